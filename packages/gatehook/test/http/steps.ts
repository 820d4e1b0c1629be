/**
 * Counts the steps of a function, independent of the speed of the machine: executions of each code
 * block, and characters that string functions of V8 scan.
 *
 * Import the counted code after `startCounting`: V8 counts the blocks that it compiles afterwards.
 * Steps inside regular expressions are not counted; see `expressions.ts`.
 */
import { Session } from 'node:inspector'

interface Coverage {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
}

export type Count = (run: () => unknown) => Promise<number>

type Native = (this: string, ...given: unknown[]) => unknown

/** The characters that a function scans: up to the match, or all. */
const searches = ['indexOf', 'includes'] as const
const scans = [
  ...(['split', 'trim', 'trimEnd', 'toLowerCase', 'toUpperCase', 'replace', 'replaceAll'] as const),
  ...(['match', 'matchAll', 'search', 'slice', 'isWellFormed', 'normalize'] as const),
]

/** Reports the costs of string functions to `charge` until the returned function is called. */
function chargeNatives(charge: (characters: number) => void): () => void {
  const prototype = String.prototype as unknown as Record<string, Native>
  const before = new Map<string, Native>()
  const charged = (name: string, cost: (text: string, result: unknown, from: number) => number) => {
    const native = prototype[name]!
    before.set(name, native)
    prototype[name] = function (this: string, ...given: unknown[]) {
      const result = native.apply(this, given)
      charge(cost(this, result, typeof given[1] === 'number' ? given[1] : 0))
      return result
    }
  }
  for (const name of scans) {
    charged(name, (text, result) => (name === 'slice' ? (result as string).length : text.length))
  }
  for (const name of searches) {
    charged(name, (text, result, from) =>
      typeof result === 'number' && result >= 0 ? result - from : text.length - from,
    )
  }
  return () => {
    for (const [name, native] of before) prototype[name] = native
  }
}

/** `files`: parts of the paths of the counted code. */
export function startCounting(files: readonly string[]): { count: Count; stop: () => void } {
  const session = new Session()
  session.connect()
  const post = (method: string, given: object = {}): unknown => {
    let answer: unknown
    session.post(method, given, (error, result) => {
      if (error) throw error
      answer = result
    })
    return answer
  }
  post('Profiler.enable')
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const taken = (): number => {
    const { result } = post('Profiler.takePreciseCoverage') as { result: readonly Coverage[] }
    let steps = 0
    for (const { url, functions } of result) {
      if (!files.some((part) => url.includes(part))) continue
      for (const { ranges } of functions) for (const { count } of ranges) steps += count
    }
    return steps
  }
  // Taking the counts resets them, and takes longer than most runs. Between two runs, no counted
  // code is executed, so only the first run must discard earlier counts: those of imports.
  let isFirst = true
  return {
    async count(run) {
      let characters = 0
      if (isFirst) taken()
      isFirst = false
      const restore = chargeNatives((more) => {
        characters += more
      })
      try {
        await run()
      } catch (error) {
        // Steps before a rejection count. An error in the test must not pass for one.
        if (error instanceof TypeError || error instanceof ReferenceError) throw error
      } finally {
        restore()
      }
      return taken() + characters
    },
    stop() {
      post('Profiler.stopPreciseCoverage')
      session.disconnect()
    },
  }
}
