"""Names for the array types that pass between the stages."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
Float32Array = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int8]
Positions = npt.NDArray[np.intp]
