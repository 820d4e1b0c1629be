/**
 * Lists every action of the audit trail with the kind of its target. `docs/reference/audit.md` is
 * generated from it, and a test performs each action.
 */
interface AuditAction {
  /** The kind of object that `target` identifies. */
  readonly target: string
  /** Describes the operation. */
  readonly sentence: string
}

const of = (target: string, sentence: string): AuditAction => ({ target, sentence })

export const auditActions: Readonly<Record<string, AuditAction>> = {
  'attention.delay': of(
    'item of `/admin/attention`',
    'An operator put an item off; `detail.until` is the instant at which it returns.',
  ),
  'audit.purge': of('`audit`', 'Rows older than the retention period were purged.'),
  'audit.set_back': of(
    '`audit`',
    'The hash chain lacked rows that a node knew: another program changed it, or a failover lost ' +
      'them. `detail` has the last known row and the last stored one.',
  ),
  'audit.start': of('`audit`', 'The hash chain began; the first row of the chain.'),
  'client.create': of('client', 'A client was registered.'),
  'client.delete': of('client', 'A client was deleted; its sessions and consents ended.'),
  'client.register': of(
    'client',
    'A client registered itself; `detail` has its name, the number and the hosts of its redirect ' +
      'URIs, in at most 500 bytes.',
  ),
  'client.rotate_secret': of('client', 'A client got a new secret.'),
  'client.update': of('client', 'A client was changed; `detail` has the new values.'),
  'clock.set': of('`clock`', 'The test clock was set.'),
  'code.reuse_detected': of(
    'session',
    'An authorization code was presented again; the session created with it ended.',
  ),
  'consent.grant': of('client', 'A person consented to scopes of a client.'),
  'consent.revoke': of('client', 'A person revoked their consent; its sessions ended.'),
  'customer.create': of(
    'customer',
    'A customer was created; `detail.role` is the role of the database if it called ' +
      '`gatehook_customer`, and `detail.created_at` the time of that call.',
  ),
  'customer.delete': of(
    'customer',
    'The credentials of a customer ended, and the deletion of its data began.',
  ),
  'customer.deleted': of(
    'customer',
    'All data of a customer was deleted; `detail.rows` is the number of rows.',
  ),
  'customer.export': of('customer', 'The data of a customer was exported.'),
  'customer.request': of(
    'customer',
    'A request of an operator under `/admin/as` changed data of a customer; `detail` has method, ' +
      'path and mode.',
  ),
  'customer.update': of('customer', 'A customer was changed, suspended or resumed.'),
  'database.promoted': of(
    '`installation`',
    'A standby of the database was promoted; `detail` has the timelines, and the events that ' +
      'this node had committed and that the new primary lacks.',
  ),
  'installation.move': of(
    '`installation`',
    'A move to another database began; `detail.target` is its URL without a password.',
  ),
  'installation.moved': of(
    '`installation`',
    'The move was completed; recorded in the new database.',
  ),
  'installation.move_undo': of('`installation`', 'The move was undone: writes are accepted again.'),
  'issuer.create': of(
    'issuer',
    'An issuer of assertions is trusted; `detail.rules` is the number of its rules.',
  ),
  'issuer.delete': of('issuer', 'An issuer was deleted; its tokens ended.'),
  'issuer.rules': of(
    'issuer',
    'Rules of one customer and mode, of the creation or change that follows; a deletion of the ' +
      'customer clears them.',
  ),
  'issuer.update': of(
    'issuer',
    'An issuer was changed; `detail` has the new values, and the number of its rules.',
  ),
  'job.cancel': of('job', 'A waiting job was canceled; `detail.name` is its name.'),
  'job.retry': of('job', 'A failed or waiting job was queued again; `detail.name` is its name.'),
  'key.create': of('key', 'An API key was created.'),
  'key.revoke': of('key', 'An API key was revoked.'),
  'key.update': of(
    'key',
    'Scopes, addresses or expiry were changed; `detail.widened` says whether it permits more.',
  ),
  'key.roll': of('key', 'An API key got a new secret.'),
  'login.throttled': of(
    'person, address or `unknown`',
    'An account or an address reached the limit of failed passwords.',
  ),
  'master_secret.reset': of('key id', 'A lost master secret was replaced, with what it encrypted.'),
  'master_secret.rotate': of('key id', 'A rotation of the master secret began.'),
  'master_secret.rotated': of('key id', 'A rotation of the master secret was completed.'),
  'operator.break_glass': of(
    'operator or link',
    'An operator signed in without the identity provider, which is for emergencies.',
  ),
  'operator.create': of('operator', 'An operator of the console was created.'),
  'operator.disable': of('operator', 'An operator was disabled; the sessions ended.'),
  'operator.enable': of('operator', 'An operator was enabled.'),
  'operator.invite': of('operator', 'A mail with a one-time link to the console was requested.'),
  'operator.link': of('link', 'A one-time link to the console was created.'),
  'operator.passkey_create': of('passkey', 'An operator created a passkey.'),
  'operator.passkey_delete': of('passkey', 'An operator deleted a passkey.'),
  'operator.password': of('operator', 'An operator got a new password; the sessions ended.'),
  'operator.recovery_code': of('operator', 'An operator signed in with a recovery code.'),
  'operator.role': of('operator', 'An operator got another role; `detail` has it.'),
  'operator.second_factor_confirm': of('operator', 'An operator confirmed a second factor.'),
  'operator.second_factor_enrol': of('operator', 'An operator began to enrol a second factor.'),
  'operator.second_factor_reset': of('operator', 'The second factor of an operator was removed.'),
  'operator.session_end': of(
    'session or operator',
    'A session of an operator was ended, or all: its provider named it without a group.',
  ),
  'operator.sign_out': of('operator', 'An operator signed out of the console.'),
  'operator.sign_in': of('operator or link', 'An operator signed in to the console.'),
  'outbox.discard': of('event', 'A held event of a transaction was discarded.'),
  'outbox.install': of('role', 'A role of the database may emit events; `detail` has its grant.'),
  'outbox.revoke': of('role', 'A role of the database may emit events no longer.'),
  'passkey.create': of('passkey', 'A person created a passkey.'),
  'passkey.delete': of('passkey', 'A person deleted a passkey.'),
  'person.create': of('person', 'A person who can sign in was created.'),
  'person.erase': of(
    'person',
    'The credential and the sessions of a person ended, and the erasure of its data began.',
  ),
  'person.erased': of('person', 'All personal data of a person was erased.'),
  'person.export': of('person', 'The data of a person was exported.'),
  'person.login': of('person', 'A person signed in: `POST /auth/login`, or the sign-in page.'),
  'person.logout': of('person', 'A person signed out at the sign-in page to use another account.'),
  'person.password': of(
    'person',
    'A person got a new password; other sessions ended, and the passkeys unless ' +
      '`detail.kept_passkeys` is true.',
  ),
  'person.password_reset': of(
    'person',
    'A person set a new password with the token of a mail; all sessions ended.',
  ),
  'person.remove': of('person', 'A person who could sign in was deleted.'),
  'person.rename': of('person', 'A person was renamed, or got another sign-in name.'),
  'person.request_rename': of(
    'person',
    'A person requested another sign-in name; a mail with a link was sent to the new address.',
  ),
  'person.sign_up': of('person', 'A stranger confirmed an e-mail address and got an account.'),
  'person.update': of('person', 'Role, scopes or state of a person were changed.'),
  'portal.sign_in': of('link or person', 'A customer’s link or person opened the portal.'),
  'portal.sign_out': of('session', 'A session of the portal was ended by its browser.'),
  'portal_link.create': of('link', 'A one-time link to the portal was created.'),
  'portal_link.revoke': of('link', 'A link to the portal was revoked; its session ended.'),
  'restore.recognize': of(
    '`installation`',
    'A start recognized restored data; `detail` has the reason and the newest audit entry of it.',
  ),
  'restore.release': of(
    '`installation`',
    'Deliveries, jobs and mail of a restored installation were released.',
  ),
  'restore.confirm': of(
    '`installation`',
    'An operator confirmed that no revocation since the backup is missing.',
  ),
  'restore.revocations': of(
    '`installation`',
    'Revocations since a backup were applied from an export; `detail` has the counts.',
  ),
  'session.create': of('session', 'A client exchanged an authorization code for tokens.'),
  'session.end': of('session', 'A session was ended by its person, its client or an operator.'),
  'session.end_all': of('person', 'A person, or an operator, ended all sessions of the person.'),
  'signing_key.replace': of('key id', 'After a leak all signing keys were replaced by a new one.'),
  'signing_key.rotate': of('key id', 'A new key to sign access tokens was published.'),
  'token.refresh_race': of(
    'session',
    'A refresh token was presented twice within 5 s; the server rejected the second request. A ' +
      'node records it once.',
  ),
  'token.reuse_detected': of(
    'session',
    'A rotated refresh token was presented again; the session ended.',
  ),
  'token.revoke': of('token (`jti`)', 'One access token was revoked.'),
  'version.notice': of(
    'version',
    'A mail to callers of a version was sent; `detail` has the customers and the subject.',
  ),
  'version.update': of('version', 'The calendar of a version was changed.'),
  'webhook.create': of('registration', 'A webhook was registered.'),
  'webhook.delete': of('registration', 'A registration was deleted.'),
  'webhook.disable': of(
    'registration',
    'A registration was disabled because its creator lost the permission for it.',
  ),
  'webhook.lost_events': of(
    'registration',
    'A node had sent webhooks for events that a promoted standby lacks; `detail.events` has ' +
      'events and deliveries, up to 100 in a row.',
  ),
  'webhook.recover': of('registration', 'Failed deliveries were queued again.'),
  'webhook.replay': of('registration', 'Recorded events were queued again.'),
  'webhook.resend': of(
    'registration',
    'A delivery was queued again; `detail` has its id and type.',
  ),
  'webhook.rotate_secret': of('registration', 'A registration got a new secret.'),
  'webhook.stop_replay': of('registration', 'A replay was stopped.'),
  'webhook.update': of('registration', 'A registration was changed; `detail` has the new values.'),
}
