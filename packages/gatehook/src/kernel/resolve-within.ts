/** The time counts in ticks, in each of which the event loop runs. */
const TICK_MS = 50

/**
 * Resolves with the result of the work; with undefined after `limitMs`, while the work goes on.
 * Rejects if the work does before; a later rejection has no reader.
 */
export const resolveWithin = <T>(limitMs: number, work: Promise<T>): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    let leftMs = limitMs
    let timer: NodeJS.Timeout
    const wait = () => {
      const ms = Math.min(leftMs, TICK_MS)
      leftMs -= ms
      timer = setTimeout(leftMs > 0 ? wait : () => resolve(undefined), ms)
    }
    wait()
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
