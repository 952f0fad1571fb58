"""Makes random changes to valid texts: to bytes, words and numbers."""
import re

CORNERS = ["0", "-1", "1", "255", "2147483647", "2147483648", "-9223372036854775808", "9223372036854775807", "18446744073709551616",
           "1e308", "1e999", "-0.0", "nan", "null", "true", '""', "[]", "{}"]
WORDS = re.compile(rb'"[^"]*"|-?\d+(?:\.\d+)?|\w+|\s+|.', re.S)


def _flip(chance, text):
    at = chance.randrange(len(text))
    return text[:at] + bytes([text[at] ^ (1 << chance.randrange(8))]) + text[at + 1:]


def _byte(chance, text):
    at = chance.randrange(len(text))
    return text[:at] + bytes([chance.randrange(256)]) + text[at + 1:]


def _cut(chance, text):
    return text[:chance.randrange(len(text))]


def _words(chance, text, change):
    words = WORDS.findall(text)
    change(words, chance.randrange(len(words)), chance.randrange(len(words)))
    return b"".join(words)


def _swap(chance, text):
    def change(words, a, b):
        words[a], words[b] = words[b], words[a]
    return _words(chance, text, change)


def _delete(chance, text):
    return _words(chance, text, lambda words, a, _: words.pop(a))


def _double(chance, text):
    return _words(chance, text, lambda words, a, b: words.insert(b, words[a]))


def _corner(chance, text):
    return _words(chance, text, lambda words, a, _: words.__setitem__(a, chance.choice(CORNERS).encode()))


def _nest(chance, text):
    at, depth = chance.randrange(len(text)), chance.choice([3, 300, 3000])
    opening, closing = chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return text[:at] + opening * depth + closing * chance.choice([0, depth]) + text[at:]


def changed(chance, text, most=3):
    """Returns the text with one to `most` random changes. An empty text is not changed further."""
    for _ in range(chance.randint(1, most)):
        if text:
            text = chance.choice([_flip, _byte, _cut, _swap, _delete, _double, _corner, _corner, _nest])(chance, text)
    return text
