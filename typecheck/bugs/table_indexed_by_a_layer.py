"""A numpy table is indexed by what a layer will give.

Source: google-deepmind/distrax#291, TracerArrayConversionError when indexing into a distribution.
"""

import numpy as np

import wengert as wg

table = np.ones((3, 2), np.float32)
place = wg.lift(1.0)
# bug: print(table[place])
print(table[int(place.predict().run())])
