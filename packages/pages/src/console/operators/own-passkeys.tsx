/** The passkeys of the signed-in operator, in its own drawer. */
import { slowNow } from '../../clock.ts'
import { ago, instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { say } from '../../parts/toast.tsx'
import { useSend } from '../../use-send.ts'
import { PasskeyPlace } from '../passkey-place.tsx'
import { createPasskey, deletePasskey, type OwnPasskey } from '../passkeys.ts'
import { useSignInMethods } from '../sign-in-methods.ts'

export function OwnPasskeys() {
  const list = useLoaded<{ readonly data: readonly OwnPasskey[] }>('/console/passkeys')
  const methods = useSignInMethods()
  const { isBusy, failure, run } = useSend()
  const change = (work: () => Promise<unknown>, words: string) =>
    run(async () => {
      try {
        await work()
        say(words)
      } catch (error) {
        // The operator cancelled, or the device has a passkey already.
        if (!(error instanceof DOMException)) throw error
        say('No passkey was added.')
      }
      list.reload()
    })
  return (
    <section class="section" aria-labelledby="own-passkeys">
      <h2 id="own-passkeys">Your passkeys</h2>
      <Part of={list} subject="the passkeys">
        {({ data }) => (
          <ul>
            {data.map(({ id, created_at: at, last_used_at: usedAt }) => (
              <li key={id}>
                Added {instant(at)}
                {usedAt && `, used ${ago(usedAt, slowNow().value)}`}{' '}
                <Button
                  size="tiny"
                  kind="quiet"
                  label={`Delete the passkey of ${instant(at)}`}
                  onClick={() => change(() => deletePasskey(id), 'The passkey is deleted.')}
                >
                  Delete
                </Button>
              </li>
            ))}
          </ul>
        )}
      </Part>
      {methods && (
        <PasskeyPlace methods={methods}>
          <Button
            busy={isBusy && 'Waiting for the device…'}
            onClick={() => change(createPasskey, 'The passkey is added.')}
          >
            Add a passkey
          </Button>
        </PasskeyPlace>
      )}
      <p class="hint">
        A passkey signs in without password and code. Adding one needs a recent sign-in.
      </p>
      {failure && <Failed failure={failure} />}
    </section>
  )
}
