"""A type that nobody has registered goes into an operation.

Source: written for this table.
"""

from decimal import Decimal

import wengert as wg

price = Decimal("19.90")
# bug: print(wg.log(price).predict().run())
print(wg.log(float(price)).predict().run())
