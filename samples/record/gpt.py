"""A small GPT and its training step. Random tokens: what matters here is the memory, not what is learnt."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.mlp_norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)

    def attention(self, x):
        batch, length, hidden = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, hidden // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.projection(mixed.transpose(1, 2).reshape(batch, length, hidden))

    def mlp(self, x):
        return self.contract(functional.gelu(self.expand(x)))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Gpt(nn.Module):
    def __init__(self, plan):
        super().__init__()
        hidden = plan["hidden"]
        self.word_embeddings = nn.Embedding(plan["vocabulary"], hidden)
        self.position_embeddings = nn.Embedding(plan["sequence"], hidden)
        self.layers = nn.ModuleList(Block(hidden, plan["heads"]) for _ in range(plan["layers"]))
        self.final_norm = nn.LayerNorm(hidden)
        self.output_layer = nn.Linear(hidden, plan["vocabulary"], bias=False)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.word_embeddings(tokens) + self.position_embeddings(positions)
        for layer in self.layers:
            x = layer(x)
        return self.output_layer(self.final_norm(x))


def build(plan, seed):
    """The model on the GPU and its optimizer; Adam creates its states in the first step."""
    torch.manual_seed(seed)
    model = Gpt(plan).to("cuda")
    return model, torch.optim.Adam(model.parameters(), lr=1e-3)


def train_step(model, optimizer, plan):
    """One step. Returns loss, gradient norm and logits; whoever keeps the logits keeps their memory."""
    record_function = torch.autograd.profiler.record_function
    with record_function("## zero_grad ##"):
        optimizer.zero_grad(set_to_none=True)
    with record_function("## forward ##"):
        tokens = torch.randint(plan["vocabulary"], (plan["batch"], plan["sequence"] + 1), device="cuda")
        logits = model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    with record_function("## backward ##"):
        loss.backward()
    with record_function("## optimizer ##"):
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return float(loss.detach()), float(norm), logits.detach()
