/**
 * The newest position that responses of a service have named. With it, a read of another node
 * contains all that this client has written or seen.
 */
const HEADER = 'gatehook-read-after'
const POSITION = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i

export interface ReadPosition {
  /** Returns the header of the next request; none before a response has had one. */
  headers(): Record<string, string>
  /** Stores the position of a response, unless a later one is stored. */
  store(headers: Headers): void
}

export function createReadPosition(): ReadPosition {
  let newest: { readonly text: string; readonly order: readonly [number, number] } | undefined
  return {
    headers: () => (newest ? { [HEADER]: newest.text } : {}),
    store(headers) {
      const text = headers.get(HEADER) ?? ''
      const match = POSITION.exec(text)
      if (!match) return
      const order = [Number.parseInt(match[1]!, 16), Number.parseInt(match[2]!, 16)] as const
      const [high, low] = newest?.order ?? [0, -1]
      if (order[0] > high || (order[0] === high && order[1] > low)) newest = { text, order }
    },
  }
}
