/** The only file that reads the time, and that waits. */
import { type Signal, signal } from '@preact/signals'

/** The difference between the clock of the server and that of the browser. */
let offsetMs = 0
/** Differences of clocks and of the network that do not matter. */
const TOLERANCE_MS = 2000

/** The time of the server. */
export const nowMs = (): number => Date.now() + offsetMs

/** Adopts the time of the server, which may be a test clock. */
export function setServerTime(iso: string): void {
  const difference = Date.parse(iso) - Date.now()
  offsetMs = Math.abs(difference) > TOLERANCE_MS ? difference : 0
  slowNow().value = nowMs()
}

/** After this time without input, polling stops, so that the session can end. */
const IDLE_MS = 30 * 60_000
let inputMs = Date.now()
for (const name of ['pointerdown', 'pointermove', 'keydown', 'wheel']) {
  addEventListener(name, () => (inputMs = Date.now()), { passive: true })
}

/** The time since the last input of the reader. */
export const idleMs = (): number => Date.now() - inputMs

const DAY_MS = 86_400_000

/** Returns the instant after a number of days; negative: before. */
export const inDays = (days: string): string =>
  new Date(nowMs() + Number(days) * DAY_MS).toISOString()

/** Runs `action` every `ms`, and when the tab becomes visible, while a reader is there. */
export function every(ms: number, action: () => void): () => void {
  const tick = () => {
    if (!document.hidden && Date.now() - inputMs < IDLE_MS) action()
  }
  const timer = setInterval(tick, ms)
  document.addEventListener('visibilitychange', tick)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', tick)
  }
}

/** Runs `action` once after `ms`, unless the returned function is called before. */
export function after(ms: number, action: () => void): () => void {
  const timer = setTimeout(action, ms)
  return () => clearTimeout(timer)
}

let minute: Signal<number> | undefined

/** The time, for relative times in lists: it changes every 15 s. */
export function slowNow(): Signal<number> {
  if (!minute) {
    const created = signal(nowMs())
    minute = created
    every(15_000, () => {
      created.value = nowMs()
    })
  }
  return minute
}
