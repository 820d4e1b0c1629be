/** A registration with the progress of its newest replay (§9.14), as single reads return it. */
import { isoTime } from '../kernel/time.ts'
import type { Reader } from '../storage/database.ts'
import { type Registration, shownRegistration } from './registration.ts'
import { findReplay, type Replay } from './replay-store.ts'

const progressOf = ({ kind, outcome, count, done, since, started_at, ended_at }: Replay) => ({
  kind,
  state: outcome ?? 'running',
  count,
  done,
  since: isoTime(since),
  started_at: isoTime(started_at),
  ended_at: ended_at === null ? null : isoTime(ended_at),
})

/** JSON text; `replay` is null where there was none. */
export async function registrationText(from: Reader, row: Registration): Promise<string> {
  const replay = await findReplay(from, row.no)
  const shown = JSON.parse(shownRegistration(row))
  return JSON.stringify({ ...shown, replay: replay ? progressOf(replay) : null })
}
