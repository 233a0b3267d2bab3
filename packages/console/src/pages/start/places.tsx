/** What each page is for. */
import { Anchor, Box, Paper, SimpleGrid, Text, Title } from '@mantine/core'
import { Link } from 'wouter'

const places = [
  { href: '/agents', label: 'Agents', what: 'System prompt, model, tools, limits, and versions' },
  { href: '/playground', label: 'Playground', what: 'Chat with an agent and see the steps and cost of each reply' },
  { href: '/knowledge', label: 'Knowledge', what: 'Documents that agents answer from, and a retrieval test' },
  { href: '/keys', label: 'API keys', what: 'Create, limit, rotate, and revoke API keys' },
  { href: '/conversations', label: 'Conversations', what: 'Transcripts with the cost, steps, and errors of each turn' },
  { href: '/money', label: 'Owners', what: 'Balances, holds, credits, and ledgers' },
  { href: '/usage', label: 'Usage', what: 'Turns, tokens, spend, errors, and latency over time' },
  { href: '/providers', label: 'Providers', what: 'Connect and test the providers that run your models' },
  { href: '/operations', label: 'System', what: 'Health, running turns, data verification, and audit log' },
]

export function Places() {
  return (
    <Box component="section" aria-labelledby="places">
      <Title order={2} size="h4" mb="sm" id="places">
        Pages
      </Title>
      <SimpleGrid component="ul" cols={{ base: 1, xs: 2, lg: 3 }} spacing="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {places.map(({ href, label, what }) => (
          <Paper key={href} component="li" withBorder p="sm">
            <Anchor component={Link} href={href} fw={600}>
              {label}
            </Anchor>
            <Text size="sm" c="dimmed">
              {what}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
    </Box>
  )
}
