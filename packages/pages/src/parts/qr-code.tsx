/** A QR code as one SVG path. The encoder is loaded with the first code. */
import { useEffect, useState } from 'preact/hooks'

interface QrCodeProps {
  readonly text: string
  readonly label: string
}

const MARGIN = 2

const pathOf = (rows: readonly (readonly boolean[])[]): string =>
  rows
    .flatMap((row, y) =>
      row.map((isDark, x) => (isDark ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : '')),
    )
    .join('')

export function QrCode({ text, label }: QrCodeProps) {
  const [rows, setRows] = useState<readonly (readonly boolean[])[]>([])
  useEffect(() => {
    let isCurrent = true
    import('uqr').then(({ encode }) => {
      if (isCurrent) setRows(encode(text, { ecc: 'M', border: 0 }).data)
    })
    return () => {
      isCurrent = false
    }
  }, [text])
  const size = rows.length + 2 * MARGIN
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={pathOf(rows)} fill="#000" />
    </svg>
  )
}
