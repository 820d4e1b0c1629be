/** The dialog that generates a new signing secret. The old one signs as well for an overlap. */
import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import { OVERLAPS } from '../overlaps.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Check, Field } from '../parts/field.tsx'
import { Failed } from '../parts/notices.tsx'
import { useSend } from '../use-send.ts'
import { NewSecret } from './endpoint-form.tsx'

interface RotateSecretProps {
  /** The path of the endpoint. */
  readonly path: string
  readonly onClose: () => void
  readonly onDone: () => void
}

export function RotateSecret({ path, onClose, onDone }: RotateSecretProps) {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[2][0])
  const [isForced, setForced] = useState(false)
  const [secret, setSecret] = useState<string>()
  const { isBusy, failure, run } = useSend()
  const isRunning = failure?.code === 'rotation_in_progress'
  const rotate = () =>
    run(async () => {
      const body = { overlap_seconds: Number(overlap), ...(isForced && { force: true }) }
      const reply = await send<{ secret: string }>('POST', `${path}/rotate-secret`, { body })
      setSecret(reply.body.secret)
      onDone()
    })
  if (secret !== undefined) {
    return <NewSecret title="The new signing secret" secret={secret} onClose={onClose} />
  }
  return (
    <Dialog
      title="Rotate the signing secret"
      onClose={onClose}
      submit={{ verb: 'Rotate', busy: isBusy && 'Rotating…', run: rotate }}
    >
      <p>Both secrets sign until the old secret ends, so that the receiver can change over.</p>
      <Field label="The old secret" value={overlap} onInput={setOverlap} options={OVERLAPS} />
      {(isRunning || isForced) && (
        <Check
          label="End the rotation that runs: the oldest secret signs no longer"
          checked={isForced}
          onChange={setForced}
        />
      )}
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}
