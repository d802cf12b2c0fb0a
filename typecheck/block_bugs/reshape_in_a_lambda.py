"""A lambda makes four numbers of six."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Vector(6) >> td.Function(lambda x: wg.reshape(x, (2, 2)))
block = td.Vector(6) >> td.Function(lambda x: wg.reshape(x, (2, 3)))
print(block.output_type)
