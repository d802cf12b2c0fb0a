"""A compiler's block gives a list."""

import wengert.fold as td

# bug: compiler = td.Compiler.create(td.Map(td.Scalar()))
compiler = td.Compiler.create(td.Map(td.Scalar()) >> td.Sum())
print(compiler)
