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

test('each command that reads the configuration can name the folder of the service', async () => {
  for (const command of await loadCommands('--help')) {
    for (const spec of 'commands' in command ? command.commands : [command]) {
      if (!spec.config) continue
      const hasFolder =
        spec.name.endsWith(' [DIR]') || spec.options?.some(([flags]) => flags === '--dir <DIR>')
      assert.ok(hasFolder, `${command.name} ${spec.name}`)
    }
  }
})
