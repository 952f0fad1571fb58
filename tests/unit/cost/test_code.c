// Tests the simulation of compiled code: the values that the code computes, and the cycles that it takes on a core.
#include "../lower/lowering.h"
#include "cost/asm/code_core.h"

static nw_machine machine(void) {
  nw_machine m = {
      .dispatch = 6, .window = 448, .scheduler = 160, .forward = 5, .forward_masked = 20, .branch_miss = 20};
  m.store_lines = 1;
  m.level[0].latency = 5, m.level[0].line = 64;
  for (int i = 0; i < NW_CLASS_COUNT; i++) m.op[i].latency = 4;
  return m;
}

#define ENTRY "kernel_entry:\n"

static nw_code_time timed(lowering *l, const char *body) {
  nw_machine m = machine();
  char text[4096];
  nw_code_time t;
  snprintf(text, sizeof text, ENTRY "%s\tretq\n", body);
  assert_true(nw_code_simulate(l->c, text, &m, 0, &t));
  return t;
}

// Simulates a loop with this many iterations and this body.
static nw_code_time looped(lowering *l, int rounds, const char *body) {
  char text[2048];
  snprintf(text, sizeof text, "\txorl\t%%eax, %%eax\n.LBB0_1:\n%s\tincq\t%%rax\n\tcmpq\t$%d, %%rax\n\tjl\t.LBB0_1\n",
           body, rounds);
  return timed(l, text);
}

static double a_round(lowering *l, const char *body) { return looped(l, 20000, body).cycles / 20000; }

static void instructions_are_counted_as_they_run(void **state) {
  nw_code_time t = looped(*state, 1000, "");
  assert_true(t.instructions == 1 + 3 * 1000 + 1);
  assert_true(looped(*state, 30000, "").instructions == 1 + 3 * 30000 + 1);
}

static void code_of_another_processor_takes_no_time(void **state) {
  nw_code_time t = timed(*state, "\tfmla\tv0.4s, v1.4s, v2.4s\n");
  assert_true(t.instructions == 0 && t.cycles == 0);
}

static void a_chain_of_results_takes_their_latency(void **state) {
  double chain = a_round(*state, "\tvfmadd231ps\t%zmm1, %zmm2, %zmm0\n");
  assert_true(chain > 3.9 && chain < 4.2);
  double two = a_round(*state, "\tvfmadd231ps\t%zmm1, %zmm2, %zmm0\n\tvfmadd231ps\t%zmm1, %zmm2, %zmm3\n");
  assert_true(two < 4.2); // the two chains run in parallel
}

static void ports_are_shared(void **state) {
  const char *mul = "\tvmulps\t%ymm1, %ymm2, %ymm3\n\tvmulps\t%ymm1, %ymm2, %ymm4\n\tvmulps\t%ymm1, %ymm2, %ymm5\n"
                    "\tvmulps\t%ymm1, %ymm2, %ymm6\n";
  const char *shuffle = "\tvpermps\t%zmm1, %zmm2, %zmm3\n\tvpermps\t%zmm1, %zmm2, %zmm4\n"
                        "\tvpermps\t%zmm1, %zmm2, %zmm5\n";
  double muls = a_round(*state, mul), shuffles = a_round(*state, shuffle);
  assert_true(muls > 1.9 && muls < 2.1); // two multiplications per cycle
  assert_true(shuffles > 2.9 && shuffles < 3.1); // one shuffle per cycle
}

// A result that is not read does not delay the next iteration.
static void unread_results_delay_nothing(void **state) {
  const char *mulx = "\tmovl\t$3, %edx\n\tmulxq\t%rdx, %rcx, %rcx\n\timulq\t$480, %rcx, %rcx\n";
  const char *cleared = "\tvxorps\t%xmm0, %xmm0, %xmm0\n\tvfmadd231ps\t%zmm1, %zmm2, %zmm0\n";
  assert_true(a_round(*state, mulx) < 2.2); // the multiplier starts one multiplication per cycle
  assert_true(a_round(*state, cleared) < 1.2);
}

// If a load reads exactly what one store wrote, the data is forwarded. If a load reads the data of several stores, the
// load waits until the data is in the cache.
static void loads_of_several_stores_wait(void **state) {
  const char *whole = "\tvmovups\t%ymm0, -64(%rsp)\n\tvmovups\t-64(%rsp), %ymm0\n";
  const char *parts = "\tvmovups\t%xmm0, -64(%rsp)\n\tvmovups\t%xmm0, -48(%rsp)\n\tvmovups\t-64(%rsp), %ymm0\n";
  nw_code_time of_one = looped(*state, 20000, whole), of_two = looped(*state, 20000, parts);
  assert_true(of_one.waits == 0 && of_one.cycles / 20000 < 8);
  assert_true(of_two.waits > 19000 && of_two.cycles / 20000 > 15);
}

static void under_a_mask_it_matters_which_lanes_are_on(void **state) {
  const char *body = "\tmovl\t$%s, %%ecx\n\tkmovd\t%%ecx, %%k1\n\tvmovups\t%%zmm0, -64(%%rsp) {%%k1}\n"
                     "\tvmovups\t-64(%%rsp), %%zmm0\n";
  char all[512], some[512];
  snprintf(all, sizeof all, body, "65535"), snprintf(some, sizeof some, body, "255");
  assert_true(looped(*state, 20000, all).waits == 0);
  assert_true(looped(*state, 20000, some).waits > 19000);
}

// Simulates an inner loop of `rounds` iterations, which runs 400 times. The end of a short loop is predicted correctly.
// The end of a loop that is longer than the branch history is mispredicted.
static nw_code_time nested(lowering *l, int rounds) {
  char body[256];
  snprintf(body, sizeof body, "\txorl\t%%ecx, %%ecx\n.LBB0_2:\n\tincq\t%%rcx\n\tcmpq\t$%d, %%rcx\n\tjl\t.LBB0_2\n",
           rounds);
  return looped(l, 400, body);
}

static void ends_of_short_loops_are_predicted(void **state) {
  assert_true(nested(*state, 10).mispredicted < 40);
  assert_true(nested(*state, 500).mispredicted > 300);
}

// ---- computed values

static uint64_t computed(const char *body) {
  char text[2048];
  snprintf(text, sizeof text, ENTRY "%s\tretq\n", body);
  nw_compiled *k = nw_code_read(text);
  assert_non_null(k);
  nw_machine m = machine();
  nw_code_needs(k, &m);
  nw_code_state *s = nw_code_begin(k);
  while (nw_code_step(s)) {}
  uint64_t v = s->reg[0];
  nw_code_end(s);
  nw_code_free(k);
  return v;
}

static void integers_agree_with_the_processor(void **state) {
  (void)state;
  assert_int_equal(computed("\tmovl\t$5, %ecx\n\tleaq\t3(%rcx,%rcx,8), %rax\n"), 48);
  assert_int_equal(computed("\tmovq\t$-7, %rax\n\tmovl\t$9, %ecx\n\tcmpq\t%rcx, %rax\n\tcmovgq\t%rcx, %rax\n"),
                   (uint64_t)-7);
  assert_int_equal(computed("\tmovq\t$-1, %rax\n\tmovl\t$3, %eax\n"), 3); // clears the upper four bytes
  assert_int_equal(computed("\tmovl\t$300, %eax\n\tmovb\t$1, %al\n"), 257);
  assert_int_equal(computed("\tmovl\t$7, %edx\n\tmovq\t$-1, %rcx\n\tmulxq\t%rcx, %rcx, %rax\n"), 6);
  assert_int_equal(computed("\tmovl\t$2, %eax\n\tcmpq\t$3, %rax\n\tsbbl\t%eax, %eax\n"), UINT32_MAX);
  assert_int_equal(computed("\tmovl\t$9, %eax\n\tpushq\t%rax\n\txorl\t%eax, %eax\n\tpopq\t%rax\n"), 9);
  assert_int_equal(computed("\tmovl\t$100, %eax\n\tcqto\n\tmovl\t$7, %ecx\n\tidivq\t%rcx\n\tmovq\t%rdx, %rax\n"), 2);
}

static void vectors_and_masks_are_followed(void **state) {
  (void)state;
  const char *lanes =
      "\tmovl\t$5, %ecx\n\tvpbroadcastq\t%rcx, %zmm0\n\tvpaddq\t%zmm0, %zmm0, %zmm1\n\tvmovq\t%xmm1, %rax\n";
  assert_int_equal(computed(lanes), 10);
  const char *mask = "\tmovl\t$5, %ecx\n\tvpbroadcastd\t%ecx, %ymm0\n\tvpxor\t%xmm1, %xmm1, %xmm1\n"
                     "\tvpcmpltud\t%ymm0, %ymm1, %k1\n\tkmovd\t%k1, %eax\n";
  assert_int_equal(computed(mask), 255);
  const char *bits =
      "\tmovl\t$12, %ecx\n\tkmovd\t%ecx, %k1\n\tmovl\t$10, %ecx\n\tkmovd\t%ecx, %k2\n\tkandw\t%k1, %k2, %k3\n"
      "\tkmovd\t%k3, %eax\n";
  assert_int_equal(computed(bits), 8);
}

// Text that is not the assembly of a kernel must be refused, or simulated without a crash.
static void text_that_is_not_code_is_refused(void **state) {
  (void)state;
  assert_null(nw_code_read(""));
  assert_null(nw_code_read("kernel_entry:\n"));
  assert_null(nw_code_read("\tmovq\t%rax, %rbx\n"));
  assert_null(nw_code_read("kernel_entry:\n\tfrobnicate\t%rax\n"));
  assert_int_equal(computed("\tvgatherqps\n\tvinserti128\t$1\n\tkshiftlw\n\tvpcmpltuq\n\tmulq\n\tpushq\n"), 0);
  assert_int_equal(computed("\tjmp\t.Lnowhere\n"), 0);
  assert_int_equal(computed("\tmovq\t(%rip), %rax\n\tvmovups\t(,%rax,4), %zmm31 {%k7} {z}\n\taddq\t%rax\n\tkmovd\n"),
                   0);
}

static uint64_t next_random(uint64_t *r) {
  *r ^= *r << 13, *r ^= *r >> 7, *r ^= *r << 17;
  return *r;
}

static void follow(const char *text) {
  nw_compiled *k = nw_code_read(text);
  nw_machine m = machine();
  if (!k) return;
  nw_code_needs(k, &m);
  nw_code_state *s = nw_code_begin(k);
  nw_code_core *c = nw_code_core_new(k, &m);
  for (int i = 0, at; i < 500; i++) {
    at = s->at;
    bool more = nw_code_step(s);
    nw_code_core_run(c, s, at);
    if (!more) break;
  }
  nw_code_core_free(c);
  nw_code_end(s);
  nw_code_free(k);
}

// Changes random characters of the assembly: in names, registers, numbers and addresses.
static void damaged_code_does_no_harm(void **state) {
  static const char whole[] =
      "\t.section\t.rodata,\"a\"\n.L0:\n\t.quad\t7\n\t.zero\t24\n\t.text\n" ENTRY
      "\tpushq\t%rbp\n\tmovabsq\t$.L0, %rax\n\tvmovdqa\t(%rax), %ymm1\n\tmovq\t$-8, %rcx\n.LBB0_1:\n"
      "\tmovq\t(%rcx), %rdx\n\tvmovups\t(%rcx), %zmm2 {%k1} {z}\n\tvpaddq\t(%rax){1to4}, %ymm1, %ymm1\n"
      "\tvpcmpltuq\t%ymm1, %ymm0, %k1 {%k2}\n\tkshiftlw\t$3, %k1, %k2\n\tvgatherqps\t(%rcx,%zmm1,4), %ymm3 {%k1}\n"
      "\tvextracti128\t$1, %ymm1, %xmm3\n\tvinserti64x4\t$1, %ymm3, %zmm1, %zmm1\n\tvpsllq\t$4, %zmm1, %zmm4\n"
      "\tidivq\t%rcx\n\tmulxq\t%rcx, %rdx, %r8\n\tcmovlq\t-8(%rsp,%rdx,2), %r9\n\tsarl\t%cl, %eax\n"
      "\tvmovups\t%zmm2, -64(%rsp) {%k1}\n\tcallq\t*%rax\n\tincq\t%rcx\n\tjne\t.LBB0_1\n\tpopq\t%rbp\n\tretq\n";
  static const char letters[] = "0123456789%$(){},.:*abcdeghiklmnpqrsvwxyz-\t\n ";
  uint64_t random = 88172645463325252;
  (void)state;
  follow(whole);
  for (int n = 0; n < 2000; n++) {
    char text[sizeof whole];
    memcpy(text, whole, sizeof whole);
    for (int i = 0; i <= n % 8; i++)
      text[next_random(&random) % (sizeof whole - 1)] = letters[next_random(&random) % (sizeof letters - 1)];
    if (n % 5 == 0) text[next_random(&random) % sizeof whole] = 0;
    follow(text);
  }
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_lowering, close_lowering)
int main(void) {
  const struct CMUnitTest tests[] = {
      T(instructions_are_counted_as_they_run),
      T(code_of_another_processor_takes_no_time),
      T(a_chain_of_results_takes_their_latency),
      T(ports_are_shared),
      T(unread_results_delay_nothing),
      T(loads_of_several_stores_wait),
      T(under_a_mask_it_matters_which_lanes_are_on),
      T(ends_of_short_loops_are_predicted),
      T(integers_agree_with_the_processor),
      T(vectors_and_masks_are_followed),
      T(text_that_is_not_code_is_refused),
      T(damaged_code_does_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
