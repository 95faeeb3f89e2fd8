"""Element by element on the vector unit: an output element needs the input elements of its own place only.

The count of a composite function follows the formula beside it, an operation of the vector unit each.
"""

from gexplorer.ops import choose
from gexplorer.ops.row import Family, Row

FAMILIES = (
    Family(
        "elementwise",
        (
            # Arithmetic.
            Row("Abs"),
            Row("Add"),
            Row("Sub"),
            Row("Mul"),
            Row("Div", "RealDiv"),
            Row("Neg"),
            Row("Reciprocal"),
            Row("Sqrt"),
            Row("Pow", flops=3),  # exp(b * log(a))
            Row("Mod", choose=choose.mod, flops=4),  # a - b * floor(a / b)
            Row("Sign"),
            Row("Ceil"),
            Row("Floor"),
            Row("Round"),
            Row("Clip", "ClipByValue", flops=2),  # min(max(x, low), high)
            # Comparison and logic.
            Row("Equal"),
            Row("Greater"),
            Row("GreaterOrEqual", "GreaterEqual"),
            Row("Less"),
            Row("LessOrEqual", "LessEqual"),
            Row("And", "LogicalAnd"),
            Row("Or", "LogicalOr"),
            Row("Not", "LogicalNot"),
            Row("Xor", "NotEqual"),  # on booleans the same
            Row("Where", "SelectV2"),
            Row("IsNaN", "IsNan"),
            Row("IsInf"),
            Row("BitwiseAnd"),
            Row("BitwiseOr"),
            Row("BitwiseXor"),
            Row("BitwiseNot", "Invert"),
            Row("BitShift", choose=choose.bit_shift),
            # Transcendental functions: exp and log are one instruction, the others are approximated.
            Row("Exp"),
            Row("Log"),
            Row("Tanh", flops=6),  # 2 / (1 + exp(-2x)) - 1
            Row("Erf", flops=17),  # Abramowitz and Stegun 7.1.26
            Row("Sin", flops=12),  # range reduction, odd polynomial of five terms
            Row("Cos", flops=12),
            Row("Tan", flops=25),  # sin / cos
            Row("Asin", flops=12),
            Row("Acos", flops=13),
            Row("Atan", flops=12),
            Row("Sinh", flops=5),  # (exp(x) - exp(-x)) / 2
            Row("Cosh", flops=5),
            Row("Asinh", flops=5),  # log(x + sqrt(x * x + 1))
            Row("Acosh", flops=5),
            Row("Atanh", flops=5),  # log((1 + x) / (1 - x)) / 2
            # Activations.
            Row("Relu"),
            Row("LeakyRelu", flops=2),  # max(x, a * x)
            Row("PRelu", flops=2),
            Row("ThresholdedRelu", flops=2),
            Row("Sigmoid", flops=4),  # 1 / (1 + exp(-x))
            Row("HardSigmoid", flops=4),  # clip(a * x + b, 0, 1)
            Row("HardSwish", flops=5),
            Row("Swish", flops=5),  # x * sigmoid(x); a scale other than 1 folds into the negation
            Row("SwiGLU", "SwiGlu", flops=6, certain=False),  # CANN's takes both halves in one tensor
            Row("Gelu", "GeluV2", flops=21),  # x / 2 * (1 + erf(x / sqrt(2)))
            Row("Mish", flops=9),  # x * tanh(softplus(x))
            Row("Softplus", flops=3),  # log(1 + exp(x))
            Row("Softsign", flops=3),  # x / (1 + |x|)
            Row("Elu", flops=5),  # max(x, 0) + a * (exp(min(x, 0)) - 1)
            Row("Celu", "CeluV2", flops=6),
            Row("Selu", flops=6),
            Row("Shrink", flops=4),
            # A conversion moves through the vector unit too.
            Row("Cast"),
        ),
    ),
    Family(
        "elementwise",
        (
            Row("Max", "Maximum"),
            Row("Min", "Minimum"),
            Row("Sum", "AddN"),
            Row("Mean", "AddN", certain=False),
        ),
        work="inputs",
    ),
)
