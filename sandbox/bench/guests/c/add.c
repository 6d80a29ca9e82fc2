// The job of the benchmark in C without a library: find "a" and "b" in the
// invocation, add them, count the calls, answer with JSON. Built with -DEXTISM
// it reads and answers through the Extism kernel instead.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define EXPORT(name) __attribute__((export_name(name)))

static u8 heap[64 * 1024]; // an arena that a call begins anew
static u32 used;
static u32 calls;
static char answer[256];

static const char *find(const char *p, const char *end, char name) {
  for (; p + 4 <= end; p++)
    if (p[0] == '"' && p[1] == name && p[2] == '"' && p[3] == ':') return p + 4;
  __builtin_trap();
}

static u32 number(const char *p) {
  u32 value = 0;
  for (; *p >= '0' && *p <= '9'; p++) value = value * 10 + (u32)(*p - '0');
  return value;
}

static char *text(char *out, const char *s) {
  while (*s) *out++ = *s++;
  return out;
}

static char *decimal(char *out, u32 value) {
  char digits[10];
  int n = 0;
  do digits[n++] = (char)('0' + value % 10);
  while (value /= 10);
  while (n) *out++ = digits[--n];
  return out;
}

static u32 serve(const char *p, u32 n) {
  u32 sum = number(find(p, p + n, 'a')) + number(find(p, p + n, 'b'));
  char *out = text(answer, "{\"status\":\"success\",\"data\":{\"sum\":");
  out = decimal(out, sum);
  out = text(out, ",\"calls\":");
  out = decimal(out, ++calls);
  out = text(out, "}}");
  used = 0;
  return (u32)(out - answer);
}

static void *reserve(u32 n) {
  if (n > sizeof heap - used) return 0;
  void *p = heap + used;
  used += (n + 15) & ~15u;
  return p;
}

#ifdef EXTISM
#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(name)))
IMPORT("input_length") u64 input_length(void);
IMPORT("input_load_u8") u32 input_load_u8(u64 at);
IMPORT("input_load_u64") u64 input_load_u64(u64 at);
IMPORT("alloc") u64 kernel_alloc(u64 n);
IMPORT("store_u8") void store_u8(u64 at, u32 value);
IMPORT("store_u64") void store_u64(u64 at, u64 value);
IMPORT("output_set") void output_set(u64 at, u64 n);

EXPORT("add") u32 add(void) {
  u64 n = input_length(), i = 0;
  u8 *in = reserve((u32)n);
  if (!in) __builtin_trap();
  for (; i + 8 <= n; i += 8) *(u64 *)(in + i) = input_load_u64(i);
  for (; i < n; i++) in[i] = (u8)input_load_u8(i);
  u64 size = serve((char *)in, (u32)n), out = kernel_alloc(size);
  for (i = 0; i + 8 <= size; i += 8) store_u64(out + i, *(u64 *)(answer + i));
  for (; i < size; i++) store_u8(out + i, (u8)answer[i]);
  output_set(out, size);
  return 0;
}
#else
EXPORT("vcp_abi_1") void vcp_abi_1(void) {}
EXPORT("vcp_alloc") void *vcp_alloc(u32 n) { return reserve(n); }
EXPORT("vcp_call") u64 vcp_call(const char *p, u32 n) {
  u32 size = serve(p, n);
  return (u64)(u32)answer << 32 | size;
}
#endif
