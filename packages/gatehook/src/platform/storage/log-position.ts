/** Positions in the log of PostgreSQL as text, `16/B374D848`, and as one number. Pure. */
const POSITION = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i
const LOW_BITS = 32n
const LOW = 0xffff_ffffn

export function parseLogPosition(text: string): bigint | undefined {
  const match = POSITION.exec(text)
  return match ? (BigInt(`0x${match[1]}`) << LOW_BITS) | BigInt(`0x${match[2]}`) : undefined
}

export const formatLogPosition = (position: bigint): string =>
  `${(position >> LOW_BITS).toString(16)}/${(position & LOW).toString(16)}`.toUpperCase()
