"""The same models given to general solvers: quadratic programs, with and without integrality."""
