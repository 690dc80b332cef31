// What tch does not offer: backward operators, attention on CUDA, memory statistics, determinism.
// Tensors cross as pointers to at::Tensor, as in torch-sys. Functions that can fail return 0, or 1 with a message.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/detail/AcceleratorHooksInterface.h>
#include <algorithm>
#include <atomic>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/core/impl/alloc_cpu.h>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

using at::Tensor;

namespace {

thread_local std::string message;

template <class F> int guarded(F run) {
  try {
    run();
    return 0;
  } catch (const std::exception &e) {
    message = e.what();
  } catch (...) {
    message = "unknown failure";
  }
  return 1;
}

Tensor *boxed(Tensor t) { return t.defined() ? new Tensor(std::move(t)) : nullptr; }

std::optional<Tensor> maybe(const Tensor *t) {
  return t ? std::optional<Tensor>(*t) : std::nullopt;
}

// The memory of a storage that a plan runs from, and the regions of it that the computation at hand may have: places of
// what it makes, each for the tensor that is asked for at a certain turn, and scratch. What is not asked for at the turn
// of a place goes into the smallest region that has room: places are scratch until their turn comes.
struct Arena {
  struct Region {
    char *begin, *end;
    int64_t turn;
  };
  static constexpr size_t line = 64;
  static inline std::mutex lock;
  // Read without the lock by threads that free memory outside of the arena.
  static inline std::atomic<char *> base{nullptr}, top{nullptr};
  static inline std::atomic<bool> offered{false};
  static inline std::vector<Region> regions;
  static inline std::map<char *, size_t> used;
  static inline char *high = nullptr;
  // What was given at each turn.
  static inline std::vector<const void *> turns;

  static bool holds(const void *at) {
    const char *byte = static_cast<const char *>(at);
    return byte >= base.load() && byte < top.load();
  }
  static char *line_up(char *at) {
    auto number = reinterpret_cast<uintptr_t>(at);
    return reinterpret_cast<char *>((number + line - 1) / line * line);
  }
  // The lowest free address in a region.
  static char *fit(const Region &region, size_t bytes) {
    char *at = line_up(region.begin);
    for (auto &[begin, size] : used)
      if (begin + size > at && begin < at + bytes)
        at = line_up(begin + size);
    return at + bytes <= region.end ? at : nullptr;
  }
  static char *find(size_t bytes, int64_t turn) {
    for (const Region &region : regions)
      if (region.turn == turn && region.end - region.begin == static_cast<int64_t>(bytes))
        if (char *at = fit(region, bytes))
          return at;
    for (const Region &region : regions)
      if (char *at = fit(region, bytes))
        return at;
    return nullptr;
  }
  static void *give(size_t bytes) {
    if (!offered.load())
      return nullptr;
    std::lock_guard<std::mutex> guard(lock);
    char *at = find(bytes, static_cast<int64_t>(turns.size()));
    turns.push_back(at);
    if (at) {
      used[at] = bytes;
      high = std::max(high, at + bytes);
    }
    return at;
  }
  // The last turn was given memory outside.
  static void note(const void *at) {
    std::lock_guard<std::mutex> guard(lock);
    if (!turns.empty() && !turns.back())
      turns.back() = at;
  }
  static void take_back(char *at) {
    std::lock_guard<std::mutex> guard(lock);
    used.erase(at);
  }
};

// Counts the bytes that tensors on the CPU ask for. The size stands in a header of one cache line.
struct CountingAllocator final : c10::Allocator {
  static constexpr size_t header = 64;
  static inline std::atomic<int64_t> current{0}, peak{0};

  static void count(int64_t bytes) {
    int64_t now = current.fetch_add(bytes) + bytes;
    int64_t seen = peak.load();
    while (now > seen && !peak.compare_exchange_weak(seen, now)) {
    }
  }
  static void release(void *data) {
    if (!data)
      return;
    if (Arena::holds(data))
      return Arena::take_back(static_cast<char *>(data));
    char *block = static_cast<char *>(data) - header;
    count(-static_cast<int64_t>(*reinterpret_cast<size_t *>(block)));
    c10::free_cpu(block);
  }
  c10::DataPtr allocate(size_t bytes) override {
    c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0)
      return {nullptr, nullptr, &release, cpu};
    if (void *given = Arena::give(bytes))
      return {given, given, &release, cpu};
    bool asked = Arena::offered.load();
    char *block = static_cast<char *>(c10::alloc_cpu(bytes + header));
    *reinterpret_cast<size_t *>(block) = bytes;
    count(static_cast<int64_t>(bytes));
    if (asked)
      Arena::note(block + header);
    return {block + header, block + header, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

// A generator of its own for one tensor: the process's, which every thread shares, stays as it is.
at::Generator generator(const Tensor &t, uint64_t seed) {
  if (t.is_cpu())
    return at::make_generator<at::CPUGeneratorImpl>(seed);
  auto device = t.device();
  auto own = at::globalContext().getAcceleratorHooksInterface(device.type()).getNewGenerator(device.index());
  own.set_current_seed(seed);
  return own;
}

c10::Stream computing(c10::Device device) { return c10::impl::VirtualGuardImpl(device.type()).getStream(device); }

c10::Device gpu(int device) { return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)}; }

// Streams that copy beside the one that computes: to the host, and from it.
struct Lanes {
  c10::Device device;
  std::vector<c10::Stream> streams;
};

c10::DeviceAllocator *cuda_allocator() { return c10::getDeviceAllocator(c10::DeviceType::CUDA); }

} // namespace

extern "C" {

const char *remat_message() { return message.c_str(); }

void remat_count_cpu_memory() {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, 255);
}

// The memory of a storage on the CPU is the arena from now on, until remat_arena_end.
int remat_arena_begin(const Tensor *storage) {
  return guarded([&] {
    char *base = static_cast<char *>(storage->data_ptr());
    TORCH_CHECK(Arena::base.load() == nullptr, "another plan runs from an arena: one at a time in a process");
    Arena::high = base;
    Arena::base.store(base);
    Arena::top.store(base + storage->nbytes());
  });
}

void remat_arena_end() {
  Arena::base.store(nullptr);
  Arena::top.store(nullptr);
}

// Offers places (offset, bytes, turn or -1) and scratch to the allocations that follow; count < 0 ends that.
void remat_arena_offer(const int64_t *places, int64_t count, int64_t scratch, int64_t scratch_bytes) {
  std::lock_guard<std::mutex> guard(Arena::lock);
  if (count < 0)
    return Arena::offered.store(false);
  char *base = Arena::base.load();
  auto region = [&](int64_t offset, int64_t bytes, int64_t turn) {
    Arena::regions.push_back({base + offset, base + offset + bytes, turn});
  };
  Arena::regions.clear();
  for (int64_t k = 0; k < count; ++k)
    region(places[3 * k], places[3 * k + 1], places[3 * k + 2]);
  region(scratch, scratch_bytes, -1);
  auto smaller = [](auto &a, auto &b) { return a.end - a.begin < b.end - b.begin; };
  std::stable_sort(Arena::regions.begin(), Arena::regions.end(), smaller);
  Arena::used.clear();
  Arena::turns.clear();
  Arena::offered.store(base != nullptr);
}

// The last turn at which memory was asked for that is at this address; -1 if there was none.
int64_t remat_arena_turn(const void *at) {
  std::lock_guard<std::mutex> guard(Arena::lock);
  auto found = std::find(Arena::turns.rbegin(), Arena::turns.rend(), at);
  return found == Arena::turns.rend() ? -1 : Arena::turns.rend() - found - 1;
}

// Blocks that were given and did not come back.
int64_t remat_arena_left() {
  std::lock_guard<std::mutex> guard(Arena::lock);
  return static_cast<int64_t>(Arena::used.size());
}

// Bytes from the begin of the arena up to the largest end of what was given.
int64_t remat_arena_high() { return Arena::high - Arena::base.load(); }

// A view of a storage, a tensor of bytes, from an offset in bytes: of the type and shape of another tensor, which may be on
// another device, and laid out as that one where it has no holes.
int remat_view_like(Tensor **out, const Tensor *storage, int64_t offset, const Tensor *like) {
  return guarded([&] {
    auto size = static_cast<int64_t>(like->element_size());
    auto strides = like->strides().vec();
    if (!like->is_non_overlapping_and_dense())
      strides = like->sizes().empty() ? strides : at::empty(like->sizes(), at::kMeta).strides().vec();
    Tensor view = at::empty({0}, like->options().device(storage->device()));
    view.set_(storage->storage(), offset / size, like->sizes(), strides);
    out[0] = boxed(view);
  });
}

bool remat_is_dense(const Tensor *t) { return t->is_non_overlapping_and_dense(); }

// Copies bytes of a tensor on the CPU to the same place of another.
int remat_copy_part(const Tensor *to, const Tensor *from, int64_t offset, int64_t bytes) {
  return guarded([&] {
    auto room = static_cast<int64_t>(std::min(to->nbytes(), from->nbytes()));
    TORCH_CHECK(to->is_cpu() && from->is_cpu() && offset >= 0 && bytes >= 0 && offset + bytes <= room,
                "bytes ", offset, " to ", offset + bytes, " of tensors of ", from->nbytes(), " and ", to->nbytes());
    std::memcpy(static_cast<char *>(to->data_ptr()) + offset, static_cast<const char *>(from->data_ptr()) + offset,
                static_cast<size_t>(bytes));
  });
}

// Pinned memory of exactly these bytes. The allocator of libtorch rounds up to a power of two.
int remat_pinned(Tensor **out, int64_t bytes) {
  return guarded([&] {
    using Pin = int (*)(void *, size_t, unsigned);
    using Unpin = int (*)(void *);
    auto pin = reinterpret_cast<Pin>(dlsym(RTLD_DEFAULT, "cudaHostRegister"));
    auto unpin = reinterpret_cast<Unpin>(dlsym(RTLD_DEFAULT, "cudaHostUnregister"));
    TORCH_CHECK(pin && unpin, "the CUDA runtime is not loaded: host memory cannot be pinned");
    // Filled, so that its pages exist.
    Tensor pageable = at::zeros({bytes}, at::kByte);
    int code = pin(pageable.data_ptr(), static_cast<size_t>(bytes), 0);
    TORCH_CHECK(code == 0, "CUDA does not pin ", bytes, " bytes of host memory (error ", code, ")");
    auto end = [pageable, unpin](void *at) { unpin(at); };
    out[0] = boxed(at::from_blob(pageable.data_ptr(), {bytes}, end, at::TensorOptions(at::kByte)));
  });
}

int remat_synchronise_stream(int device) {
  return guarded([&] { computing(gpu(device)).synchronize(); });
}

int remat_lanes_new(void **out, int device, bool half) {
  return guarded([&] {
    c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
    auto lanes = std::make_unique<Lanes>(Lanes{gpu(device), {}});
    lanes->streams.push_back(guard.getNewStream(lanes->device));
    lanes->streams.push_back(half ? lanes->streams[0] : guard.getNewStream(lanes->device));
    *out = lanes.release();
  });
}

void remat_lanes_free(void *lanes) { delete static_cast<Lanes *>(lanes); }

// Copies after what was computed so far and after another copy's event; leaves an event at the end.
int remat_lanes_copy(void **event, void *of, bool to_host, const Tensor *const *to, const Tensor *const *from,
                     int64_t count, void *after) {
  return guarded([&] {
    auto *lanes = static_cast<Lanes *>(of);
    c10::Stream lane = lanes->streams[to_host ? 0 : 1];
    c10::Event ready(c10::DeviceType::CUDA);
    ready.record(computing(lanes->device));
    ready.block(lane);
    if (after)
      static_cast<c10::Event *>(after)->block(lane);
    c10::StreamGuard guard(lane);
    for (int64_t k = 0; k < count; ++k)
      to[k]->copy_(*from[k], /*non_blocking=*/true);
    auto done = std::make_unique<c10::Event>(c10::DeviceType::CUDA);
    done->record(lane);
    *event = done.release();
  });
}

// Later computations wait for an event; with `host` this thread waits as well.
int remat_lanes_wait(void *of, void *event, bool host) {
  return guarded([&] {
    c10::Stream stream = computing(static_cast<Lanes *>(of)->device);
    static_cast<c10::Event *>(event)->block(stream);
    if (host)
      stream.synchronize();
  });
}

// An event that marks a time on the stream of computations.
int remat_mark(void **event, int device) {
  return guarded([&] {
    auto made = std::make_unique<c10::Event>(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
    made->record(computing(gpu(device)));
    *event = made.release();
  });
}

// Milliseconds from one mark to another, both of which have occurred.
int remat_between(double *milliseconds, void *from, void *to) {
  return guarded([&] { *milliseconds = static_cast<c10::Event *>(from)->elapsedTime(*static_cast<c10::Event *>(to)); });
}

int remat_lanes_synchronise(void *of) {
  return guarded([&] {
    for (c10::Stream &stream : static_cast<Lanes *>(of)->streams)
      stream.synchronize();
  });
}

void remat_event_free(void *event) { delete static_cast<c10::Event *>(event); }

// FNV-1a over 64-bit words of a part of a storage on the CPU.
uint64_t remat_checksum(const Tensor *storage, int64_t offset, int64_t bytes) {
  const unsigned char *at = static_cast<const unsigned char *>(storage->data_ptr()) + offset;
  uint64_t hash = 14695981039346656037ull;
  for (int64_t k = 0; k < bytes; k += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at + k, static_cast<size_t>(std::min<int64_t>(8, bytes - k)));
    hash = (hash ^ word) * 1099511628211ull;
  }
  return hash;
}

// Bytes allocated now, at most since the last reset, and reserved at most. device < 0 is the CPU.
int remat_memory(int device, int64_t *current, int64_t *peak, int64_t *reserved) {
  return guarded([&] {
    if (device < 0) {
      *current = CountingAllocator::current.load();
      *peak = CountingAllocator::peak.load();
      *reserved = *peak;
      return;
    }
    auto stats = cuda_allocator()->getDeviceStats(static_cast<c10::DeviceIndex>(device));
    *current = stats.allocated_bytes[0].current;
    *peak = stats.allocated_bytes[0].peak;
    *reserved = stats.reserved_bytes[0].peak;
  });
}

int remat_reset_peak(int device) {
  return guarded([&] {
    if (device < 0)
      CountingAllocator::peak.store(CountingAllocator::current.load());
    else
      cuda_allocator()->resetPeakStats(static_cast<c10::DeviceIndex>(device));
  });
}

// Fills a tensor with normal numbers, with ones of a share, or with integers below a limit.
int remat_draw(const Tensor *t, int what, double number, uint64_t seed) {
  return guarded([&] {
    Tensor out = *t;
    auto own = generator(out, seed);
    if (what == 0)
      out.normal_(0, 1, own);
    else if (what == 1)
      out.bernoulli_(number, own);
    else
      out.random_(0, static_cast<int64_t>(number), own);
  });
}

int remat_empty_cache() {
  return guarded([&] { cuda_allocator()->emptyCache(); });
}

int remat_set_precise(bool deterministic) {
  return guarded([&] {
    auto &context = at::globalContext();
    context.setDeterministicAlgorithms(deterministic, true);
    context.setDeterministicCuDNN(deterministic);
    context.setDeterministicFillUninitializedMemory(false);
    context.setBenchmarkCuDNN(false);
  });
}

// Products and convolutions in float32 round their factors to 19 bits, or not.
int remat_set_tf32(bool rounds) {
  return guarded([&] {
    auto &context = at::globalContext();
    context.setAllowTF32CuDNN(rounds);
    context.setAllowTF32CuBLAS(rounds);
  });
}

bool remat_tf32() {
  auto &context = at::globalContext();
  return context.allowTF32CuBLAS() && context.allowTF32CuDNN();
}

int remat_convolution_backward(Tensor **out, const Tensor *dy, const Tensor *x, const Tensor *weight,
                               int64_t bias, const int64_t *stride, const int64_t *padding,
                               const int64_t *dilation, bool transposed, int64_t axes, int64_t groups,
                               bool want_input, bool want_parameters) {
  return guarded([&] {
    size_t n = static_cast<size_t>(axes);
    std::vector<int64_t> zero(n, 0), bias_sizes;
    if (bias > 0)
      bias_sizes.push_back(bias);
    at::OptionalIntArrayRef sizes;
    if (bias > 0)
      sizes = at::IntArrayRef(bias_sizes);
    auto [dx, dw, db] = at::convolution_backward(
        *dy, *x, *weight, sizes, at::IntArrayRef(stride, n), at::IntArrayRef(padding, n),
        at::IntArrayRef(dilation, n), transposed, zero, groups,
        {want_input, want_parameters, want_parameters && bias > 0});
    out[0] = want_input ? boxed(dx) : nullptr;
    out[1] = want_parameters ? boxed(dw) : nullptr;
    out[2] = want_parameters && bias > 0 ? boxed(db) : nullptr;
  });
}

int remat_batch_norm_backward(Tensor **out, const Tensor *dy, const Tensor *x, const Tensor *weight,
                              const Tensor *mean, const Tensor *invstd, double eps, bool want_input) {
  return guarded([&] {
    auto [dx, dw, db] = at::native_batch_norm_backward(*dy, *x, maybe(weight), {}, {}, maybe(mean), maybe(invstd),
                                                       true, eps, {want_input, true, true});
    out[0] = want_input ? boxed(dx) : nullptr;
    out[1] = boxed(dw);
    out[2] = boxed(db);
  });
}

int remat_layer_norm_backward(Tensor **out, const Tensor *dy, const Tensor *x, int64_t features,
                              const Tensor *mean, const Tensor *rstd, const Tensor *weight, const Tensor *bias,
                              bool want_input) {
  return guarded([&] {
    auto [dx, dw, db] = at::native_layer_norm_backward(*dy, *x, {features}, *mean, *rstd, maybe(weight), maybe(bias),
                                                       {want_input, true, true});
    out[0] = want_input ? boxed(dx) : nullptr;
    out[1] = boxed(dw);
    out[2] = boxed(db);
  });
}

// Queries, keys and values [batch, heads, positions, features] on CUDA: output and log-sum-exp. Without dropout nobody
// reads the generator's state.
int remat_attention(Tensor **out, const Tensor *q, const Tensor *k, const Tensor *v, bool causal) {
  return guarded([&] {
    auto [y, lse, seed, offset] = at::_scaled_dot_product_efficient_attention(*q, *k, *v, {}, true, 0.0, causal);
    out[0] = boxed(y);
    out[1] = boxed(lse);
  });
}

int remat_attention_backward(Tensor **out, const Tensor *dy, const Tensor *q, const Tensor *k, const Tensor *v,
                             const Tensor *y, const Tensor *lse, bool causal) {
  return guarded([&] {
    // This kernel takes "deterministic, or else a warning" for no wish.
    struct Strict {
      at::Context &context = at::globalContext();
      bool deterministic = context.deterministicAlgorithms();
      Strict() { context.setDeterministicAlgorithms(deterministic, false); }
      ~Strict() { context.setDeterministicAlgorithms(deterministic, true); }
    } strict;
    Tensor state = at::zeros({}, at::kLong);
    auto [dq, dk, dv, db] = at::_scaled_dot_product_efficient_attention_backward(
        *dy, *q, *k, *v, {}, *y, *lse, state, state, 0.0, {true, true, true, false}, causal);
    out[0] = boxed(dq);
    out[1] = boxed(dk);
    out[2] = boxed(dv);
  });
}
}
