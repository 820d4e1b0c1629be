import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CredentialVerifiers } from '../identity/access/authenticate.ts'
import type { SharedPoll } from '../platform/storage/shared-poll.ts'
import type { Call } from '../protocol/http/call.ts'
import { identifyStream } from './stream-identity.ts'

test('an open stream identifies its caller after the state of other nodes was read', async () => {
  const steps: string[] = []
  const refresh = async () => void steps.push('poll')
  const identifyOr = () => () => {
    steps.push('identify')
    return undefined
  }
  const modules = { sessions: { identifyOr }, verifiers: {} as CredentialVerifiers }
  const identify = identifyStream({ poll: { refresh } as SharedPoll }, modules)
  assert.equal(await identify({} as Call), undefined)
  assert.deepEqual(steps, ['poll', 'identify'])
})
