"""Two small tools for `riverrun chat`, so that a tool call can be seen with nothing set up: time and arithmetic."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

Number = int | float

_LONGEST = 200  # characters of an expression
_MOST_BITS = 4096  # of a whole number: some 1,200 digits
_ON_PAPER = str.maketrans("×÷−", "*/-")


async def current_time(timezone: str = "UTC") -> str:
    """The date, the time and the day of the week in a time zone.

    Args:
        timezone: IANA name of the time zone, such as "Europe/Paris".
    """
    return f"{datetime.now(_zone(timezone)):%Y-%m-%d %H:%M:%S %z (%A)}"


async def calculate(expression: str) -> Number:
    """Work out an arithmetic expression: + - * / // % ** ( ), abs, round, min, max, sqrt, pi and e.

    Args:
        expression: The expression, such as "17 * (3 + 4)".
    """
    return evaluate(expression)


def _zone(name: str) -> tzinfo:
    if name.upper() in ("", "UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"unknown time zone {name!r}: give an IANA name such as Europe/Paris") from None


def evaluate(expression: str) -> Number:
    """The value of an arithmetic expression. `^` is a power, as on paper; × ÷ − are read too.

    Raises ValueError for anything else, for what has no value (1/0) and for numbers too large to be of use.
    """
    if len(expression) > _LONGEST:
        raise ValueError(f"an expression has at most {_LONGEST} characters")
    text = expression.translate(_ON_PAPER).replace("^", "**").strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser warns of odd literals on stderr
            tree = ast.parse(text, mode="eval")
        return _tidy(_value(tree.body))
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"no arithmetic expression: {expression!r}") from None
    except (ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{expression!r} has no value: {error}") from None


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > _MOST_BITS:
        raise OverflowError("the number is too large")
    result: object = base**exponent
    if not isinstance(result, int | float):
        raise ValueError("the result is no real number")
    return result


_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e}


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError("only numbers can be reckoned with")
        case ast.Constant(value=int() | float() as number):
            return _bounded(number)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _bounded(_call(name, [_value(argument) for argument in arguments]))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is no arithmetic")


def _call(name: str, values: list[Number]) -> Number:
    match name, values:
        case "abs", [one]:
            return abs(one)
        case "sqrt", [one] if one >= 0:
            return math.sqrt(one)
        case "round", [one]:
            return round(one)
        case "round", [one, int(digits)]:
            return round(one, max(-400, min(400, digits)))
        case "min", [_, *_]:
            return min(values)
        case "max", [_, *_]:
            return max(values)
        case _:
            raise ValueError(f"{name}({', '.join(str(value) for value in values)}) has no value here")


def _bounded(number: Number) -> Number:
    if number.bit_length() > _MOST_BITS if isinstance(number, int) else not math.isfinite(number):
        raise OverflowError("the number is too large")
    return number


def _tidy(number: Number) -> Number:
    """A whole number without `.0`, as people write it."""
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 1e15 else number
