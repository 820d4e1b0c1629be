/**
 * §3.8: a flood of guesses from rotating addresses delays a correct login by at most two seconds
 * and never rejects it. This test uses the running service with its real hashes;
 * `test/people/flood.test.ts` simulates more kinds of floods.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const GUESSES = 600
const env = { GATEHOOK_TRUST_PROXY: '127.0.0.1' }

eachService(
  'eight people sign in beside six hundred guesses for many names from many addresses',
  async (service) => {
    const { createPerson, anonymous } = await openPeople(service)
    const names = Array.from({ length: 8 }, (_, n) => `person${n}`)
    for (const name of names) await createPerson(name)
    const login = async (address: string, name: string, password: string) => {
      const headers = { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' }
      const body = { username: emailOf(name), password }
      const { status } = await anonymous.post('/auth/login', body, headers)
      return status
    }
    let ended = 0
    const guesses = Array.from({ length: GUESSES }, async (_, n) => {
      const status = await login(`198.51.${n >> 8}.${n & 255}`, `guess${n}`, 'wrong')
      ended++
      return status
    })
    const statuses = await Promise.all(
      names.map((name, n) => login(`203.0.113.${n}`, name, PASSWORD)),
    )
    assert.deepEqual([...new Set(statuses)], [200])
    // The order, not the milliseconds, which depend on the machine.
    assert.ok(ended < GUESSES / 2, `${ended} guesses ended before the logins`)
    const outcomes = new Set(await Promise.all(guesses))
    for (const status of outcomes) assert.ok(status === 401 || status === 503, `${status}`)
  },
  { env },
)
