/* Custom mutators for a libFuzzer that was preloaded.

   The key insight: libFuzzer binds LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver when it is
   loaded, and a preloaded one is loaded before Python starts: it finds none, says nothing, and
   atheris's custom mutator is never called. These are there from the start, and ask at each call's
   time for what atheris has loaded since. Without a custom mutator they do what libFuzzer does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef size_t (*mutator)(uint8_t *, size_t, size_t, unsigned);
typedef size_t (*crossover)(const uint8_t *, size_t, const uint8_t *, size_t, uint8_t *, size_t,
                            unsigned);

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static mutator next;
    if (next == NULL)
        next = (mutator)dlsym(RTLD_NEXT, "LLVMFuzzerCustomMutator");
    return next ? next(data, size, most, seed) : LLVMFuzzerMutate(data, size, most);
}

/* Of no size: libFuzzer then takes another of its ways to mutate. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two,
                                 size_t two_size, uint8_t *out, size_t most, unsigned seed)
{
    static crossover next;
    if (next == NULL)
        next = (crossover)dlsym(RTLD_NEXT, "LLVMFuzzerCustomCrossOver");
    return next ? next(one, one_size, two, two_size, out, most, seed) : 0;
}
