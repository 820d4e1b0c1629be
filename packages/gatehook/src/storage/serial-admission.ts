/**
 * Admits serializable transactions of this process. First runs are concurrent; a repeated run is
 * alone, so that it conflicts with other nodes only. Contains no database access.
 */
export interface SerialAdmission {
  /** Runs `body` beside others, after the bodies that run alone. */
  together<T>(body: () => Promise<T>): Promise<T>
  /** Runs `body` after all admitted bodies have ended, and before any further one. */
  alone<T>(body: () => Promise<T>): Promise<T>
}

export function createSerialAdmission(): SerialAdmission {
  const concurrent = new Set<Promise<unknown>>()
  /** The last body that runs alone, or waits for it; undefined for none. */
  let last: Promise<unknown> | undefined
  return {
    async together(body) {
      while (last) await last
      const running = body()
      concurrent.add(running)
      return running.finally(() => concurrent.delete(running))
    },
    alone(body) {
      const previous = last
      const running = (async () => {
        await previous
        await Promise.allSettled(concurrent)
        return body()
      })()
      const ended: Promise<unknown> = running
        .catch(() => undefined)
        .then(() => {
          if (last === ended) last = undefined
        })
      last = ended
      return running
    },
  }
}
