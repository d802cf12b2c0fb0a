"""A compiler's block begins with a function of tensors."""

import wengert as wg
import wengert.fold as td

# bug: compiler = td.Compiler.create(td.Function(wg.exp))
compiler = td.Compiler.create(td.Scalar() >> td.Function(wg.exp))
print(compiler)
