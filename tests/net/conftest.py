import pytest


def pytest_addoption(parser):
    parser.addoption("--renew", action="store_true", help="write the digests of the regression net again")


@pytest.fixture
def renew(request):
    return request.config.getoption("--renew")
