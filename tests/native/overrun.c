/* A parser with four faults, each a few lines, so that a sanitizer has something to say.
   The key insight: which fault shows is decided by the first character alone, so a test knows
   which frames must be in the report. */
#include <Python.h>
#include <stdlib.h>
#include <string.h>

/* READ: one byte after a copy that has no room for a terminator. */
__attribute__((noinline)) static long past_the_end(const char *text, size_t size)
{
    char *copy = malloc(size);
    long last;
    if (copy == NULL)
        return -1;
    memcpy(copy, text, size);
    last = copy[size];
    free(copy);
    return last;
}

/* The same in a block of Python's, whose allocator must give way for it to be seen. */
__attribute__((noinline)) static long past_the_end_of_python(const char *text, size_t size)
{
    char *copy = PyMem_Malloc(size);
    long last;
    if (copy == NULL)
        return -1;
    memcpy(copy, text, size);
    last = copy[size];
    PyMem_Free(copy);
    return last;
}

/* WRITE after free. */
__attribute__((noinline)) static long after_free(size_t size)
{
    volatile char *copy = malloc(size);
    free((void *)copy);
    copy[0] = 'x';
    return 0;
}

/* A store to no address: a deadly signal, with a sanitizer or without. */
__attribute__((noinline)) static long through_null(void)
{
    *(volatile int *)0 = 1;
    return 0;
}

static PyObject *loads(PyObject *module, PyObject *argument)
{
    Py_ssize_t size;
    long answer = 0;
    const char *text = PyUnicode_AsUTF8AndSize(argument, &size);
    (void)module;
    if (text == NULL)
        return NULL;
    if (text[0] == 'r')
        answer = past_the_end(text, (size_t)size);
    else if (text[0] == 'p')
        answer = past_the_end_of_python(text, (size_t)size);
    else if (text[0] == 'f')
        answer = after_free((size_t)size);
    else if (text[0] == 'n')
        answer = through_null();
    return PyLong_FromLong(answer);
}

static PyMethodDef methods[] = {{"loads", loads, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "overrun", NULL, -1, methods};

PyMODINIT_FUNC PyInit_overrun(void) { return PyModule_Create(&definition); }
