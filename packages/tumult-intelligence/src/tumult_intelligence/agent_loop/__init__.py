"""A small agent loop: a goal, a model and tools go in, an outcome with its whole transcript comes out."""

from tumult_intelligence.agent_loop._agent import Agent
from tumult_intelligence.agent_loop._events import (
    AgentOutcome,
    AssistantText,
    Event,
    Finished,
    Hint,
    StepStarted,
    ToolCallStarted,
    ToolResultReady,
    UsageUpdated,
)
from tumult_intelligence.agent_loop._execution import cap
from tumult_intelligence.agent_loop._finish import (
    BudgetExceeded,
    Cancelled,
    CostBudgetExceeded,
    Finish,
    NoMoreToolCalls,
    ProviderFailed,
    ProviderStop,
    Stuck,
    StuckKind,
    TokenBudgetExceeded,
    WallClockExceeded,
)
from tumult_intelligence.agent_loop._limits import Limits, StuckLimits
from tumult_intelligence.agent_loop._messages import Message, Role, ToolCall, unanswered
from tumult_intelligence.agent_loop._model import Completion, LlmProvider, Nudge, TotalUsage, Usage
from tumult_intelligence.agent_loop._scripted import ScriptedProvider, ScriptExhausted
from tumult_intelligence.agent_loop._tools import (
    ConfigurationError,
    FunctionTool,
    Tool,
    ToolError,
    ToolRegistry,
    ToolSpec,
)

__all__ = [
    "Agent",
    "AgentOutcome",
    "AssistantText",
    "BudgetExceeded",
    "Cancelled",
    "Completion",
    "ConfigurationError",
    "CostBudgetExceeded",
    "Event",
    "Finish",
    "Finished",
    "FunctionTool",
    "Hint",
    "Limits",
    "LlmProvider",
    "Message",
    "NoMoreToolCalls",
    "Nudge",
    "ProviderFailed",
    "ProviderStop",
    "Role",
    "ScriptExhausted",
    "ScriptedProvider",
    "StepStarted",
    "Stuck",
    "StuckKind",
    "StuckLimits",
    "TokenBudgetExceeded",
    "Tool",
    "ToolCall",
    "ToolCallStarted",
    "ToolError",
    "ToolRegistry",
    "ToolResultReady",
    "ToolSpec",
    "TotalUsage",
    "Usage",
    "UsageUpdated",
    "WallClockExceeded",
    "cap",
    "unanswered",
]
