import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCommands } from './commands.ts'

const nameOf = ({ name }: { readonly name: string }) => name.split(' ')[0]!

test('each command loads by its name, and any other word loads all', async () => {
  const commands = await loadCommands('--help')
  assert.ok(commands.length > 20)
  for (const command of commands) {
    assert.deepEqual(await loadCommands(nameOf(command)), [command])
  }
  for (const word of [undefined, 'unknown', 'constructor']) {
    assert.deepEqual(await loadCommands(word), commands)
  }
})
