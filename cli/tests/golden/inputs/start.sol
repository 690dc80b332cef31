a 1
b 1
e 1
