/** Single keys and signals of a command that runs until it is stopped. */

/**
 * Calls the function of each pressed key. Aborts `stop` on q, Ctrl-C, SIGINT and SIGTERM. Returns a
 * function that removes the listeners. Without a terminal, only signals are handled.
 */
export function onKeys(
  stop: AbortController,
  keys: Readonly<Record<string, () => unknown>>,
): () => void {
  const end = () => stop.abort()
  const { stdin } = process
  const onText = (text: string) => {
    for (const key of text) {
      if (key === 'q' || key === '\x03' || key === '\x04') end()
      else keys[key]?.()
    }
  }
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  if (stdin.isTTY) {
    stdin.setRawMode(true)
    stdin.setEncoding('utf8').on('data', onText)
  }
  return () => {
    process.off('SIGINT', end)
    process.off('SIGTERM', end)
    if (!stdin.isTTY) return
    stdin.off('data', onText)
    stdin.setRawMode(false)
    stdin.pause()
  }
}
