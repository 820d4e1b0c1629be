/** §11.5: the work for an event does not grow with the number of streams that receive it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeOf } from '../../kernel/principal.ts'
import { createMessages } from './stream-messages.ts'
import type { EventCells } from './view.ts'

const rowOf = (id: string): EventCells => [
  ...([id, 'note.created', 0, scopeOf(1, 'test')] as const),
  ...(['notes', '{}', '{"id":1}'] as const),
]

test('streams of two versions render an event twice, with pauses between events', async () => {
  const versions: (string | undefined)[] = []
  let pauses = 0
  const writeMessages = createMessages((_, version) => {
    versions.push(version)
    return `{"id":1,"version":"${version}"}`
  })
  const startPace = () => async () => void pauses++
  const rows = [rowOf('evt_1'), rowOf('evt_2')]
  const texts = await Promise.all(
    Array.from({ length: 20 }, (_, n) => writeMessages(rows, n % 2 ? 'v1' : 'v2', { startPace })),
  )
  assert.deepEqual(versions.sort(), ['v1', 'v1', 'v2', 'v2'])
  assert.equal(pauses, 40)
  assert.equal(new Set(texts).size, 2)
  assert.match(
    texts[0]!,
    /^id: evt_1\ndata: \{.*"version":"v2".*\}\n\nid: evt_2\ndata: \{.*\}\n\n$/,
  )
  assert.equal(await writeMessages([], 'v1', { startPace }), '')
})
