/** The last attempts as bars of three heights, and a line without axes. */

/** `o` accepted, `w` late, `s` slow, `x` failed, any other character: none. */
const BARS: Readonly<Record<string, readonly [name: string, height: number]>> = {
  o: ['o', 8],
  w: ['w', 15],
  s: ['w', 20],
  x: ['x', 24],
}
const EMPTY = ['e', 4] as const
const HEIGHT = 28

interface StripProps {
  /** Oldest first: `ooxw`. */
  readonly attempts: string
  readonly label: string
  readonly isBig?: boolean
  /** The URL of an attempt by its position. */
  readonly hrefOf?: (at: number) => string | undefined
  /** The words of an attempt, if it has a link. */
  readonly titleOf?: (at: number) => string
}

export function Strip({ attempts, label, isBig, hrefOf, titleOf }: StripProps) {
  const width = Math.max(1, attempts.length) * 6
  const bars = [...attempts].map((letter, at) => {
    const [name, height] = BARS[letter] ?? EMPTY
    const bar = <rect class={name} x={at * 6} y={HEIGHT - height} width="5" height={height} />
    const href = hrefOf?.(at)
    if (!href) return bar
    return (
      <a key={href} href={href} aria-label={titleOf?.(at)}>
        <rect x={at * 6} y="0" width="6" height={HEIGHT} fill="transparent" />
        {bar}
      </a>
    )
  })
  return (
    <svg
      class={isBig ? 'strip big' : 'strip'}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
      role={hrefOf ? 'group' : 'img'}
      aria-label={label}
    >
      {bars}
    </svg>
  )
}

interface SparkProps {
  readonly values: readonly number[]
  readonly label: string
  readonly tone?: 'a' | 'b' | 'c'
}

export function Spark({ values, label, tone = 'a' }: SparkProps) {
  const top = Math.max(1, ...values)
  const x = (at: number) => (values.length < 2 ? 0 : (at / (values.length - 1)) * 96)
  const line = values.map(
    (value, at) => `${x(at).toFixed(1)} ${(19 - (value / top) * 18).toFixed(1)}`,
  )
  return (
    <svg class="spark" viewBox="0 0 96 20" preserveAspectRatio="none" role="img" aria-label={label}>
      <path class={`l k-${tone}`} d={line.length === 0 ? '' : `M${line.join('L')}`} />
    </svg>
  )
}
