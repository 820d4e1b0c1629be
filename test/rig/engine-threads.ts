/**
 * Lets the apps of a process run their delivery engines on the same threads, one after another: a
 * new thread takes a tenth of a second of a core to load the modules of the engine.
 */
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import threads, { MessageChannel, type MessagePort, type WorkerOptions } from 'node:worker_threads'

/** The message that starts an engine on `engine-thread.ts`. */
export interface EngineStart {
  /** The entry of the engine, with a number: each engine evaluates it anew. */
  readonly url: string
  readonly port: MessagePort
  readonly workerData: unknown
}

const { Worker } = threads
const ENTRY = /\/engine-worker\.\w+$/
const idle: InstanceType<typeof Worker>[] = []
let count = 0

/** Takes an idle thread, or starts one. An idle thread does not keep the process alive. */
function takeThread(): InstanceType<typeof Worker> {
  const thread = idle.pop() ?? new Worker(new URL('./engine-thread.ts', import.meta.url))
  thread.ref()
  return thread
}

/** The thread of one engine, as a `Worker`: it exits when the engine has closed its port. */
class EngineThread extends EventEmitter {
  readonly #port: MessagePort

  constructor(entry: URL, { workerData }: WorkerOptions) {
    super()
    const thread = takeThread()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const onError = (error: unknown) => this.emit('error', error)
    const onEnd = () => {
      thread.off('error', onError).off('exit', onEnd).off('message', onClosed)
      this.emit('exit')
    }
    const onClosed = () => {
      onEnd()
      thread.unref()
      idle.push(thread)
    }
    thread.on('error', onError).on('exit', onEnd).on('message', onClosed)
    port1.on('message', (message) => this.emit('message', message))
    const url = `${entry.href}?engine=${++count}`
    thread.postMessage({ url, port: port2, workerData }, [port2])
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message)
  }
}

/** Engines that export traces register their exporter in the thread, so it is theirs alone. */
const isShared = (url: URL | string, { workerData }: WorkerOptions = {}): boolean =>
  ENTRY.test(String(url)) && workerData?.settings.tracing === undefined

function createWorker(url: URL | string, options?: WorkerOptions) {
  if (isShared(url, options)) return new EngineThread(new URL(url), options!)
  return new Worker(url, options)
}

threads.Worker = Object.assign(createWorker, { prototype: Worker.prototype }) as never
syncBuiltinESMExports()
