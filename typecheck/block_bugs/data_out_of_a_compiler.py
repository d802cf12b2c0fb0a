"""A compiler's block gives data."""

import wengert.fold as td

# bug: compiler = td.Compiler.create(td.InputTransform(len))
compiler = td.Compiler.create(td.InputTransform(len) >> td.Scalar())
print(compiler)
