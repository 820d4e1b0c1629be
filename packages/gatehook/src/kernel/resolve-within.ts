/**
 * Resolves with the work, or after `limitMs` while it goes on. Rejects if the work does before; a
 * later rejection has no reader.
 */
export const resolveWithin = (limitMs: number, work: Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, limitMs)
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
