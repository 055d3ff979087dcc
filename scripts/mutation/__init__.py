"""Break the code on purpose, one small change at a time, and see whether the tests notice.

Written for this package because its kernels are compiled: the tools that there are leave decorated functions
alone, or start an interpreter for every change and know nothing of caches of compiled code. Here every mutant
runs in a process forked from one that has loaded the libraries, only the tests that reach the changed line
are run, the quickest first, and kernels are compiled anew only where a change reaches them. The sources on
disk stay as they are: the changed module is put in place by the import system of the forked process.
"""
