/**
 * The thread that owns the monitoring file, seen from the main thread: starts with the first
 * command, ends when idle, and rejects commands that fail. It has a low priority, unless other
 * programs use every core: then one of normal priority replaces it. `file-worker.ts` is its other
 * end.
 */
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { wallClock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import { createFilePace, FILE_PATIENCE_MS, type FilePace } from './file-pace.ts'
import type {
  FileCommand,
  FileResult,
  FileThreadData,
  FileTrouble,
  FileWorkerData,
} from './file-protocol.ts'

/** An idle thread occupies 10 MB, so it ends after this time. */
const IDLE_MS = 15_000
/** Commands that may wait for the thread; further ones are rejected. */
const WAITING_MAX = 64
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

const METERS = {
  elapsedMs: () => wallClock.elapsedMs(),
  cpuMs() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
}

export interface FileFigures {
  /** Commands that failed, by reason. */
  readonly failures: Readonly<Record<FileTrouble, number>>
  /** Damaged files that were renamed. */
  readonly renamed: number
}

/** Omits the number from each form of the command. */
type Numberless<T> = T extends unknown ? Omit<T, 'no'> : never

/** Throws if the system has no thread left. */
export const openWorker = (script: URL, options: WorkerOptions): Worker =>
  new Worker(script, options)

export class FileThread {
  readonly #data: FileThreadData
  readonly #log: Log
  readonly #failures: Record<FileTrouble, number> = { corrupt: 0, locked: 0, failed: 0 }
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #pace: FilePace
  readonly #open: typeof openWorker
  #queue: FileCommand[] = []
  #current: ReturnType<FilePace['begin']> | undefined
  #patience: NodeJS.Timeout | undefined
  #isLow = true
  #isReplacing = false
  #renamed = 0
  #thread: Worker | undefined
  #lastNo = 0
  #idle: NodeJS.Timeout | undefined

  constructor(data: FileThreadData, log: Log, pace = createFilePace(METERS), open = openWorker) {
    this.#open = open
    this.#data = data
    this.#pace = pace
    this.#log = log
  }

  get isAwake(): boolean {
    return this.#thread !== undefined || this.#isReplacing
  }

  figures(): FileFigures {
    return { failures: { ...this.#failures }, renamed: this.#renamed }
  }

  /** Resolves with the result; rejects with `storage_unavailable`. */
  send(command: Numberless<FileCommand>): Promise<unknown> {
    if (this.#waiting.size >= WAITING_MAX) {
      return Promise.reject(this.#fail('failed', 'too many commands wait'))
    }
    clearTimeout(this.#idle)
    const no = ++this.#lastNo
    const job = Promise.withResolvers<unknown>()
    this.#waiting.set(no, job)
    this.#queue.push({ ...command, no } as FileCommand)
    this.#postNext()
    return job.promise
  }

  /** Posts one command at a time: the others wait for a thread of the priority that they need. */
  #postNext(): void {
    if (this.#current || this.#isReplacing || this.#queue.length === 0) return
    if (this.#thread && this.#isLow === this.#pace.isStarved()) {
      this.#replace(this.#thread)
      return
    }
    try {
      this.#thread ??= this.#start()
    } catch (error) {
      this.#rejectAll(String(error))
      return
    }
    const current = this.#pace.begin()
    this.#current = current
    if (this.#isLow) this.#patience = setTimeout(() => current.noteSlow(), FILE_PATIENCE_MS)
    this.#thread.ref() // a command in progress keeps the process alive
    this.#thread.postMessage(this.#queue.shift()!)
  }

  #endCurrent(): void {
    clearTimeout(this.#patience)
    this.#current?.end()
    this.#current = undefined
  }

  #replace(former: Worker): void {
    this.#thread = undefined
    this.#isReplacing = true
    former.ref() // the commands that wait keep the process alive
    void former.terminate().finally(() => {
      this.#isReplacing = false
      this.#postNext()
    })
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle)
    if (!this.isAwake) return
    await this.send({ close: true }).catch(() => undefined)
    clearTimeout(this.#idle)
    // A command that arrived meanwhile needs the thread; it ends when idle again.
    if (this.#waiting.size > 0) return
    const ending = this.#thread
    this.#thread = undefined
    await ending?.terminate()
  }

  #start(): Worker {
    // Packages contain .js; the checkout runs .ts.
    const script = import.meta.url.replace(/file-thread(\.\w+)$/, 'file-worker$1')
    this.#isLow = !this.#pace.isStarved()
    const workerData: FileWorkerData = { ...this.#data, isLow: this.#isLow }
    const worker = this.#open(new URL(script), { workerData, resourceLimits: LIMITS })
    const onEnd = (error?: unknown) => {
      if (this.#thread !== worker) return
      this.#thread = undefined
      this.#endCurrent()
      this.#rejectAll(String(error ?? 'the thread ended'))
    }
    worker.on('message', (result: FileResult) => this.#onResult(result))
    worker.on('error', onEnd)
    worker.on('exit', () => onEnd())
    worker.unref()
    return worker
  }

  #rejectAll(reason: string): void {
    this.#queue = []
    for (const job of this.#waiting.values()) job.reject(this.#fail('failed', reason))
    this.#waiting.clear()
  }

  #onResult(result: FileResult): void {
    if ('renamedTo' in result) {
      this.#renamed++
      const fields = { renamed_to: result.renamedTo, reason: result.message }
      this.#log.error(fields, 'a monitoring file was damaged; a new one began')
      return
    }
    this.#endCurrent()
    const job = this.#waiting.get(result.no)
    this.#waiting.delete(result.no)
    if ('value' in result) job?.resolve(result.value)
    else job?.reject(this.#fail(result.trouble, result.message))
    this.#postNext()
    if (this.#waiting.size === 0) this.#scheduleEnd()
  }

  #scheduleEnd(): void {
    this.#thread?.unref()
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.end(), IDLE_MS)
    this.#idle.unref()
  }

  #fail(trouble: FileTrouble, message: string): Failure {
    this.#failures[trouble]++
    return new Failure('storage_unavailable', undefined, {
      detail: `${this.#data.file}: ${message}`,
    })
  }
}
