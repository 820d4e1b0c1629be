/** The recipes of `docs/guides/issuers.md`: their files, and the claims of their issuers. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import {
  issuerEnv as env,
  GRANT,
  openIssuerRig,
  RULE,
  SERVER,
} from '../../packages/gatehook/test/oauth/issuer-rig.ts'
import { openOauthFixture } from '../../packages/gatehook/test/oauth/rig.ts'
import { blocksOf } from './snippets.ts'

const guide = readFileSync(new URL('../../docs/guides/issuers.md', import.meta.url), 'utf8')

/** Returns the file of a recipe. */
function fileOf(recipe: string) {
  const [, section = ''] = new RegExp(`^## ${recipe}$([^]*?)(?=^## )`, 'm').exec(guide) ?? []
  const block = blocksOf(section).find(({ language }) => language === 'yaml')
  return parse(block?.text ?? assert.fail(`${recipe} has no file`))
}

test('the files request tokens for this server, and exchange them', () => {
  const github = fileOf('GitHub Actions')
  assert.deepEqual(github.permissions, { 'id-token': 'write' })
  const [{ run }] = github.steps
  assert.match(run, /ACTIONS_ID_TOKEN_REQUEST_TOKEN.*\s+"\$ACTIONS_ID_TOKEN_REQUEST_URL&audience=/)
  const { deploy } = fileOf('GitLab CI')
  assert.equal(deploy.id_tokens.GATEHOOK_TOKEN.aud, SERVER)
  for (const script of [run, deploy.script[0]]) {
    assert.ok(script.includes(`${SERVER}/oauth/token`) && script.includes(GRANT), script)
    assert.match(script, /-d assertion="\$\w+"/)
  }
  const [{ projected }] = fileOf('Kubernetes service accounts').volumes
  const [{ serviceAccountToken: token }] = projected.sources
  assert.deepEqual([token.audience, token.path], [SERVER, 'token'])
})

const KUBERNETES = 'https://kubernetes.default.svc.cluster.local'
/** The claims that the issuers document, and the rules of the guide. */
const RECIPES: readonly (readonly [issuer: object, claims: object])[] = [
  [
    { rules: [{ ...RULE, match: { repository: 'acme/shop', ref: 'refs/heads/main' } }] },
    {
      sub: 'repo:acme/shop:ref:refs/heads/main',
      repository: 'acme/shop',
      repository_id: '74',
      repository_owner: 'acme',
      ref: 'refs/heads/main',
      run_attempt: '2',
    },
  ],
  [
    { rules: [{ ...RULE, match: { project_id: '22', ref_protected: 'true' } }] },
    {
      sub: 'project_path:acme/shop:ref_type:branch:ref:main',
      project_id: '22',
      ref_protected: 'true',
    },
  ],
  [
    {
      issuer: KUBERNETES,
      reuse: 'until_expiry',
      rules: [{ ...RULE, match: { sub: 'system:serviceaccount:shop:worker' } }],
    },
    {
      iss: KUBERNETES,
      sub: 'system:serviceaccount:shop:worker',
      aud: [SERVER],
      jti: undefined,
      'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'worker' } },
    },
  ],
]

test('an assertion with the claims of each issuer passes the rule of the guide', async (t) => {
  for (const [issuer, claims] of RECIPES) {
    const rig = await openIssuerRig(await openOauthFixture(t, 'sqlite', { env }))
    const { id } = await rig.create(issuer)
    const assertion = await rig.sign({ ...claims })
    const { checks } = await rig.explain(id, assertion)
    assert.equal((await rig.exchange(assertion)).status, 200, JSON.stringify(checks))
    const other = await rig.sign({ ...claims, sub: 'other', project_id: '7', repository: 'a/b' })
    assert.equal((await rig.exchange(other)).status, 400)
  }
})
