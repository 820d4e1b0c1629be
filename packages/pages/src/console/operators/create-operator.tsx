/** The form that creates an operator. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Failed } from '../../parts/notices.tsx'
import { go, keepQuery } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { type OperatorRow, PASSWORD_MIN, ROLE_OPTIONS } from './operator-shapes.ts'

interface CreateOperatorProps {
  readonly onClose: () => void
  readonly onCreate: () => void
}

export function CreateOperator({ onClose, onCreate }: CreateOperatorProps) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState('support')
  const [password, setPassword] = useState('')
  const { isBusy, failure, messageOf, run } = useSend()
  const create = () =>
    run(async () => {
      const body = { email, role, password }
      const { body: operator } = await send<OperatorRow>('POST', '/admin/operators', { body })
      onCreate()
      onClose()
      go(keepQuery(`/console/operators/${operator.id}`))
    })
  const hasFieldError = messageOf('/email') ?? messageOf('/password')
  return (
    <Dialog
      title="Create an operator"
      onClose={onClose}
      submit={{ verb: 'Create', busy: isBusy && 'Creating…', run: create }}
    >
      <Form onSubmit={create}>
        <Field
          label="E-mail address"
          type="email"
          autocomplete="off"
          value={email}
          onInput={setEmail}
          error={messageOf('/email')}
          autofocus
          required
        />
        <Field label="Role" value={role} onInput={setRole} options={ROLE_OPTIONS} />
        <Field
          label="First password"
          type="password"
          autocomplete="new-password"
          value={password}
          onInput={setPassword}
          error={messageOf('/password')}
          hint={`At least ${PASSWORD_MIN} characters. A link opens the console without it.`}
          required
        />
        <input type="submit" hidden />
      </Form>
      {failure && !hasFieldError && <Failed failure={failure} />}
    </Dialog>
  )
}
