"""One of two outputs of a compiler's block is a list."""

import wengert.fold as td

# bug: compiler = td.Compiler.create(td.AllOf(td.Map(td.Scalar()), td.Length()))
compiler = td.Compiler.create(td.AllOf(td.Map(td.Scalar()) >> td.Sum(), td.Length()))
print(compiler)
