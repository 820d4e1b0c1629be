/**
 * Single keys while a command runs, and the signals that end it. Without a terminal: the signals.
 */

/** Runs `keys` as they are pressed; q, ctrl-C and signals abort `stop`. Gives what undoes it. */
export function onKeys(
  stop: AbortController,
  keys: Readonly<Record<string, () => unknown>>,
): () => void {
  const end = () => stop.abort()
  const { stdin } = process
  const pressed = (text: string) => {
    for (const key of text) {
      if (key === 'q' || key === '\x03' || key === '\x04') end()
      else keys[key]?.()
    }
  }
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  if (stdin.isTTY) {
    stdin.setRawMode(true)
    stdin.setEncoding('utf8').on('data', pressed)
  }
  return () => {
    process.off('SIGINT', end)
    process.off('SIGTERM', end)
    if (!stdin.isTTY) return
    stdin.off('data', pressed)
    stdin.setRawMode(false)
    stdin.pause()
  }
}
