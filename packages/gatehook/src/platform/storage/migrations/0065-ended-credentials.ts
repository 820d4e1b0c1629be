/**
 * Revoked keys are listed and found, and the end of a leaked secret leads to its key or client.
 * `ending`: the last four characters of the secret.
 */
const secretTables = ['gh_api_key_secrets', 'gh_client_secrets'] as const

const endings = secretTables.map(
  (table) => `ALTER TABLE ${table} ADD COLUMN ending {text};
CREATE INDEX ${table}_ending ON ${table} (ending);
`,
)

const revokedKeys = (['id', 'name, id', 'revoked_at, id'] as const).map(
  (
    columns,
  ) => `CREATE INDEX gh_api_keys_revoked_${columns.split(',')[0]} ON gh_api_keys (${columns})
  WHERE revoked_at IS NOT NULL;
`,
)

export const endedCredentials = [...endings, ...revokedKeys].join('')
