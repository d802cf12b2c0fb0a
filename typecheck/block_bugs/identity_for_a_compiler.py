"""A compiler's block gives what it reads."""

import wengert.fold as td

# bug: compiler = td.Compiler.create(td.Identity())
compiler = td.Compiler.create(td.Scalar() >> td.Identity())
print(compiler)
