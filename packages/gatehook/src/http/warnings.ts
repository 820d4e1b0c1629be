/** `_warnings` next to what an object body holds already; never in errors (§3.3, §8.6). */
import type { After } from './call.ts'

export const addWarnings: After = (call, answer) => {
  if (call.warnings.length === 0 || answer.status >= 400) return
  const { json } = answer
  if (json === undefined || !json.startsWith('{')) return
  const lead = json === '{}' ? '{' : `${json.slice(0, -1)},`
  answer.json = `${lead}"_warnings":${JSON.stringify(call.warnings)}}`
}
