"""``python -m remat_bb`` is the command ``remat-bb``."""

from ._command import main

raise SystemExit(main())
