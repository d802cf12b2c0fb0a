"""The cases of a choice by place differ in width."""

import wengert.fold as td

# bug: block = td.OneOf(int, (td.OneHot(4), td.OneHot(5)))
block = td.OneOf(int, (td.OneHot(4), td.OneHot(0, 4)))
print(block.output_type)
