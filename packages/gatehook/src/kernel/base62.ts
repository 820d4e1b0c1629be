/** Text in base62: the digits are in byte order, so equally long texts sort like their numbers. */
import type { Random } from './random.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Encodes the low digits of a number, padded on the left with `0`. */
export function encodeBase62(number: number, length: number): string {
  let rest = number
  let text = ''
  for (let n = 0; n < length; n++) {
    text = DIGITS[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** Returns the number of a text; undefined for a text with other characters. */
export function decodeBase62(text: string): number | undefined {
  let number = 0
  for (const character of text) {
    const digit = DIGITS.indexOf(character)
    if (digit < 0) return undefined
    number = number * 62 + digit
  }
  return number
}

export const randomBase62 = (random: Random, length: number): string =>
  randomText(random, DIGITS, length)

/** Returns `length` random characters of an alphabet, each equally likely. */
export function randomText(random: Random, alphabet: string, length: number): string {
  const unbiasedBelow = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    const bytes = random.bytes(length - text.length + 8)
    for (let at = 0; at < bytes.length && text.length < length; at++) {
      // Larger bytes are skipped: they would favor the first digits.
      if (bytes[at]! < unbiasedBelow) text += alphabet[bytes[at]! % alphabet.length]
    }
  }
  return text
}
